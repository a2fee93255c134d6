import { type ParseArgsConfig, parseArgs } from 'node:util'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { usageError } from '../ui/output.ts'

/**
 * Descriptions of the flags of a command, keyed by flag syntax. `--force` is a switch, `-o, --output <format>` takes a
 * value and has a short form, `--header <name=value>...` is repeatable, and the value of `--prefix [text]` is optional
 * (default: empty).
 */
export type FlagTable = Readonly<Record<string, string>>

type NameOf<F> = F extends `${string}--${infer Name} ${string}`
  ? Name
  : F extends `${string}--${infer Name}`
    ? Name
    : never

type ValueOf<F> = F extends `${string}...`
  ? readonly string[]
  : F extends `${string} <${string}` | `${string} [${string}`
    ? string
    : boolean

/** Values by flag name. Values remain text, so `007` is not a number. */
export type FlagsOf<T extends FlagTable> = { readonly [F in keyof T as NameOf<F>]?: ValueOf<F> }

export interface CommandLine<T extends FlagTable> {
  readonly words: readonly string[]
  readonly flags: FlagsOf<T>
}

/** A flag of a {@link FlagTable}. */
export interface Flag {
  readonly name: string
  readonly letter: string | undefined
  /** Value placeholder; empty for a switch. */
  readonly value: string
  readonly isOptional: boolean
  readonly isRepeatable: boolean
}

const FLAG = /^(?:-(?<letter>\w), )?--(?<name>\w+) ?(?<value>.*?)(?<dots>\.{3})?$/s

export function parseFlag(text: string): Flag {
  const { letter, name = '', value = '', dots } = FLAG.exec(text)?.groups ?? {}
  return {
    ...{ name, letter, value },
    isOptional: value.startsWith('['),
    isRepeatable: dots !== undefined,
  }
}

/** Prefix that marks negative numbers such as `-5` as values for `parseArgs`. A command line cannot contain NUL. */
const VALUE = '\0'

/**
 * Parses the arguments of a command. `--a-b` is equivalent to `--a_b` (reference 15.6).
 *
 * @throws {CliError} for an unknown flag, or a flag without its value
 */
export function readCommandLine<T extends FlagTable>(
  command: string,
  args: readonly string[],
  table: T,
): CommandLine<T> {
  const declared = Object.keys(table).map(parseFlag)
  const options: ParseArgsConfig['options'] = {}
  for (const { name, letter, value, isRepeatable } of declared)
    options[name] = {
      type: value === '' ? 'boolean' : 'string',
      multiple: isRepeatable,
      ...(letter !== undefined && { short: letter }),
    }
  try {
    const { values, positionals } = parseArgs({
      args: prepare(args, declared),
      options,
      allowPositionals: true,
    })
    const flags = Object.entries(values).map(([name, value]) => [name, withoutMark(value)])
    return { words: positionals.map(toText), flags: Object.fromEntries(flags) }
  } catch (cause) {
    throw usageError(command, explainFlag(cause, declared), cause)
  }
}

/** Translates an error of `parseArgs` into a message. */
function explainFlag(error: unknown, declared: readonly Flag[]): string {
  const { message, code } = error as NodeJS.ErrnoException
  // The message contains `-o, --output <value>` if the flag has a short form.
  const [flag = '', name = ''] = /--([^' =]+)/.exec(message) ?? /-([^' ])/.exec(message) ?? []
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const isSwitch = declared.some((each) => each.name === name && each.value === '')
    return isSwitch ? `--${name} takes no value.` : `--${name} needs a value.`
  }
  const names = declared.map((each) => each.name)
  const similar = flag.startsWith('--') ? suggest(name, names) : undefined
  if (similar !== undefined) return `unknown flag ${flag}, did you mean --${similar}?`
  const hint = flag.startsWith('--') ? '' : '; put -- before a value that starts with a dash'
  return `unknown flag ${flag}${hint}.`
}

/** @throws {CliError} if there are arguments */
export function checkNoWords(command: string, words: readonly string[]): void {
  if (words.length === 0) return
  throw usageError(command, `Too many arguments, expected no arguments, got ${words.join(', ')}.`)
}

/** Normalizes flags for `parseArgs`. Words after `--` are values. */
function prepare(args: readonly string[], declared: readonly Flag[]): string[] {
  const end = args.indexOf('--')
  const last = end < 0 ? args.length : end
  return args.map((word, i) => {
    if (i >= last) return word
    if (/^-\d/.test(word)) return VALUE + word
    const flag = normalize(word)
    const match = declared.find(({ name, letter }) => flag === `--${name}` || flag === `-${letter}`)
    const hasValue = i + 1 < last && !/^-\D/.test(args[i + 1]!)
    return match?.isOptional && !hasValue ? `--${match.name}=` : flag
  })
}

function toText(word: string): string {
  return word.startsWith(VALUE) ? word.slice(1) : word
}

function withoutMark<V>(value: V): V | string | readonly unknown[] {
  if (Array.isArray(value)) return value.map(withoutMark)
  return typeof value === 'string' ? toText(value) : value
}

/** Replaces `--a-b` with `--a_b`, and `--target` with `--env`. */
function normalize(word: string): string {
  return word
    .replace(/^--[^=]+/, (flag) => `--${flag.slice(2).replaceAll('-', '_')}`)
    .replace(/^--target(?==|$)/, '--env')
}

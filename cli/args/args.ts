import { type ParseArgsConfig, parseArgs } from 'node:util'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { usageError } from '../ui/output.ts'

/**
 * Flags of a command: how each is written, and its description. `--force` is a switch, `-o, --output <format>` takes a value and has a
 * letter, `--header <name=value>...` is repeatable, and the value of `--prefix [text]` may be left out (it is then empty).
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

/** Values by flag name. Texts stay as typed: `007` is not a number. */
export type FlagsOf<T extends FlagTable> = { readonly [F in keyof T as NameOf<F>]?: ValueOf<F> }

/** Arguments and flags of a command. */
export interface CommandLine<T extends FlagTable> {
  readonly words: readonly string[]
  readonly flags: FlagsOf<T>
}

/** A flag of a {@link FlagTable}. */
export interface Flag {
  readonly name: string
  readonly letter: string | undefined
  /** Empty: a switch. */
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

/** Marks a word such as `-5`, a value, while `parseArgs` reads it: no command line contains it. */
const VALUE = '\0'

/**
 * Reads the arguments of a command; `--a-b` is `--a_b` (reference 15.6).
 *
 * @throws {CliError} for a flag that is unknown, or without its value.
 */
export function readCommandLine<T extends FlagTable>(
  command: string,
  args: readonly string[],
  table: T,
): CommandLine<T> {
  const known = Object.keys(table).map(parseFlag)
  const options: ParseArgsConfig['options'] = {}
  for (const { name, letter, value, isRepeatable } of known)
    options[name] = {
      type: value === '' ? 'boolean' : 'string',
      multiple: isRepeatable,
      ...(letter !== undefined && { short: letter }),
    }
  try {
    const { values, positionals } = parseArgs({
      args: prepare(args, known),
      options,
      allowPositionals: true,
    })
    const flags = Object.entries(values).map(([name, value]) => [name, withoutMark(value)])
    return { words: positionals.map(toText), flags: Object.fromEntries(flags) }
  } catch (cause) {
    throw usageError(command, explainFlag(cause, known), cause)
  }
}

/** Explains an error of `parseArgs` in a sentence. */
function explainFlag(error: unknown, known: readonly Flag[]): string {
  const { message, code } = error as NodeJS.ErrnoException
  // `-o, --output <value>` where it has a letter.
  const [flag = '', name = ''] = /--([^' =]+)/.exec(message) ?? /-([^' ])/.exec(message) ?? []
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const isSwitch = known.some((each) => each.name === name && each.value === '')
    return isSwitch ? `--${name} takes no value.` : `--${name} needs a value.`
  }
  const names = known.map((each) => each.name)
  const meant = flag.startsWith('--') ? suggest(name, names) : undefined
  if (meant !== undefined) return `unknown flag ${flag}, did you mean --${meant}?`
  const hint = flag.startsWith('--') ? '' : '; a value that begins with a dash stands behind --'
  return `unknown flag ${flag}${hint}.`
}

/** @throws {CliError} for arguments of a command without any. */
export function checkNoWords(command: string, words: readonly string[]): void {
  if (words.length === 0) return
  throw usageError(command, `Too many arguments, expected no arguments, got ${words.join(', ')}.`)
}

/** The words as `parseArgs` wants them; those behind `--` are values. */
function prepare(args: readonly string[], known: readonly Flag[]): string[] {
  const end = args.indexOf('--')
  const last = end < 0 ? args.length : end
  return args.map((word, i) => {
    if (i >= last) return word
    if (/^-\d/.test(word)) return VALUE + word
    const flag = toUnderscores(word)
    const found = known.find(({ name, letter }) => flag === `--${name}` || flag === `-${letter}`)
    const hasValue = i + 1 < last && !/^-\D/.test(args[i + 1]!)
    return found?.isOptional && !hasValue ? `--${found.name}=` : flag
  })
}

function toText(word: string): string {
  return word.startsWith(VALUE) ? word.slice(1) : word
}

function withoutMark<V>(value: V): V | string | readonly unknown[] {
  if (Array.isArray(value)) return value.map(withoutMark)
  return typeof value === 'string' ? toText(value) : value
}

function toUnderscores(word: string): string {
  return word.replace(/^--[^=]+/, (flag) => `--${flag.slice(2).replaceAll('-', '_')}`)
}

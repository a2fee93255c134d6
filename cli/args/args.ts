import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { CAC } from 'cac'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Flags of a command by name: whether they take a text, texts as often as they are given, a text or none (then it is empty), or are there or not. */
export type FlagTypes = Readonly<Record<string, 'string' | 'strings' | 'optional' | 'boolean'>>

interface FlagValues {
  readonly string: string
  readonly strings: readonly string[]
  readonly optional: string
  readonly boolean: boolean
}

/** What was typed behind a command. Texts are as they were typed: `007` is no number. */
export interface CommandLine<T extends FlagTypes> {
  readonly words: readonly string[]
  readonly flags: { readonly [N in keyof T]?: FlagValues[T[N]] }
}

/** Flags that have a letter, too, wherever they are flags. */
const LETTERS: Readonly<Record<string, string>> = {
  output: 'o',
  follow: 'f',
  lines: 'n',
  database: 'd',
  table: 't',
  prefix: 'p',
  limit: 'l',
  expiry: 'e',
  verbose: 'v',
}

/** Before a word such as `-5`, which is a value and no flag, while it is read: no word of a command line has it. */
const VALUE = '\0'

/**
 * Reads the command line of a command; `--a-b` is `--a_b` (reference 15.6).
 *
 * @throws {CliError} for a flag that is unknown, or without its value.
 */
export function readCommandLine<T extends FlagTypes>(cli: CAC, types: T): CommandLine<T> {
  const [command, ...args] = cli.rawArgs.slice(2)
  const options: ParseArgsConfig['options'] = {}
  for (const [name, kind] of Object.entries(types)) {
    const type = kind === 'boolean' ? kind : 'string'
    const short = LETTERS[name]
    options[name] = { type, multiple: kind === 'strings', ...(short !== undefined && { short }) }
  }
  try {
    const { values, positionals } = parseArgs({
      args: prepare(args, types),
      options,
      allowPositionals: true,
    })
    const flags = Object.entries(values).map(([name, value]) => [name, withoutMark(value)])
    return { words: positionals.map(toText), flags: Object.fromEntries(flags) }
  } catch (error) {
    throw new CliError(`${explainFlag(error, types)} See 'mx ${command} --help'`, {
      status: EXIT.usage,
      cause: error,
    })
  }
}

/** What is wrong with a flag, a sentence: of what `parseArgs` has thrown. */
export function explainFlag(error: unknown, types: FlagTypes): string {
  const { message, code } = error as NodeJS.ErrnoException
  // `-o, --output <value>` where it has a letter.
  const [flag = '', name = ''] = /--([^' =]+)/.exec(message) ?? /-([^' ])/.exec(message) ?? []
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION')
    return types[name] === 'boolean' ? `--${name} takes no value.` : `--${name} needs a value.`
  const meant = flag.startsWith('--') ? suggest(name, Object.keys(types)) : undefined
  if (meant !== undefined) return `unknown flag ${flag}, did you mean --${meant}?`
  const hint = flag.startsWith('--') ? '' : '; a value that begins with a dash stands behind --'
  return `unknown flag ${flag}${hint}.`
}

/** @throws {CliError} where there are words behind a command that takes none. */
export function checkNoWords(words: readonly string[], command: string): void {
  if (words.length === 0) return
  throw new CliError(
    `Too many arguments, expected no arguments, got ${words.join(', ')}. See 'mx ${command} --help'`,
    { status: EXIT.usage },
  )
}

/** The words as `parseArgs` wants them; those behind `--` are values. */
function prepare(args: readonly string[], types: FlagTypes): string[] {
  const end = args.indexOf('--')
  const last = end < 0 ? args.length : end
  return args.map((word, i) => {
    if (i >= last) return word
    if (/^-\d/.test(word)) return VALUE + word
    const flag = toUnderscores(word)
    const name = Object.keys(types).find(
      (each) => flag === `--${each}` || flag === `-${LETTERS[each]}`,
    )
    const hasValue = i + 1 < last && !/^-\D/.test(args[i + 1]!)
    return name !== undefined && types[name] === 'optional' && !hasValue ? `--${name}=` : flag
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

import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { type Field, toFlag, toLeaves } from './fields.ts'

/** Arguments after the service name. */
export interface DynamicWords {
  /** Words of the endpoint. */
  readonly words: readonly string[]
  /** Arguments from the first flag on. */
  readonly flags: readonly string[]
}

/** Flags of every endpoint. A field of the same name takes precedence, except for `help` and `json`. */
export const LOCAL_FLAGS: readonly (readonly [flag: string, description: string])[] = [
  ['help', 'Show this help'],
  ['json <request>', 'Request: JSON, @file, or - for standard input; fields override it'],
  ['output <format>', 'json, yaml or raw (default: json)'],
  ['env <name>', 'Environment (default: the selected one)'],
  ['namespace <name>', 'Namespace of the service (default: namespace of the login)'],
  ['request_timeout <duration>', 'Timeout of the call (default: 10s; none for a stream)'],
]
const RESERVED = ['help', 'json']
const LETTERS: Readonly<Record<string, string>> = { '-o': '--output', '-h': '--help' }
const STANDARD_INPUT = '-'

/** Values of fields and {@link LOCAL_FLAGS}. */
export interface FlagsInput {
  readonly fields: ReadonlyMap<Field, readonly string[]>
  /** Values by flag name; the last occurrence wins. */
  readonly local: Readonly<Record<string, string>>
}

export function splitWords(args: readonly string[]): DynamicWords {
  const at = args.findIndex((word) => word.startsWith('-'))
  return at < 0 ? { words: args, flags: [] } : { words: args.slice(0, at), flags: args.slice(at) }
}

/**
 * Parses the flags of an endpoint. `--a_b`, `--a-b` and `--a.b` are the same flag (reference 15.6). A bare `-` is
 * `--json=-`.
 *
 * @param command command name for errors, such as `helloworld call`
 * @throws {CliError} for an unknown flag, a flag without a value, or any other argument
 */
export function readFlags(
  flags: readonly string[],
  fields: readonly Field[],
  command: string,
): FlagsInput {
  const all = listAll(fields)
  const values = new Map<Field, string[]>()
  const local: Record<string, string> = {}
  for (let i = 0; i < flags.length; i++) {
    const word = flags[i]!
    if (word === STANDARD_INPUT) {
      local['json'] = word
      continue
    }
    const [, typed, name = '', inline] =
      /^(--?([^=]+))(?:=(.*))?$/s.exec(LETTERS[word] ?? toLongFlag(word)) ?? []
    if (typed === undefined || !word.startsWith('-'))
      throw usage(
        `unexpected argument ${JSON.stringify(word)}: fields are flags, such as --name=${word}`,
        command,
      )
    const field = findField(name, all)
    const plain = name.replaceAll('-', '_')
    const isLocal = field === undefined || RESERVED.includes(plain)
    if (isLocal && !LOCAL_FLAGS.some(([each]) => each.split(' ')[0] === plain))
      throw usage(explainUnknown(name, all), command)
    const isBare = (isLocal && plain === 'help') || (!isLocal && /^bool/.test(field.type))
    const next = flags[i + 1]
    const value =
      inline ?? (isBare ? '' : next !== undefined && isValue(next) ? flags[++i]! : undefined)
    if (value === undefined) throw usage(`--${name} needs a value`, command)
    if (isLocal) local[plain] = value
    else values.set(field, [...(values.get(field) ?? []), value])
  }
  return { fields: values, local }
}

/** Lists messages and their fields, outermost first. */
function listAll(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => [field, ...listAll(field.fields)])
}

function findField(name: string, all: readonly Field[]): Field | undefined {
  const plain = toPlain(name)
  const matches = all.filter((field) => toPlain(field.path.join('_')) === plain)
  // `a_b` may be a field, or the field b of a message a. `a.b` distinguishes them.
  return matches.find(({ path }) => path.join('.') === name) ?? matches[0]
}

function toPlain(name: string): string {
  return name.replaceAll(/[-.]/g, '_')
}

/** Converts `-ojson` to `--output=json`. */
function toLongFlag(word: string): string {
  return word.replace(/^-o=?(.+)$/s, '--output=$1')
}

/** True if a word is a value, including `-` and negative numbers. */
function isValue(word: string): boolean {
  return !word.startsWith('-') || word === STANDARD_INPUT || /^-[\d.]/.test(word)
}

function explainUnknown(name: string, all: readonly Field[]): string {
  const names = [
    ...toLeaves(all).map((field) => toFlag(field).slice(2)),
    ...LOCAL_FLAGS.map(([flag]) => flag.split(' ')[0]!),
  ]
  const similar = suggest(toPlain(name), names)
  return `Unknown flag: ${name}${similar === undefined ? '' : `, did you mean --${similar}?`}`
}

function usage(message: string, command: string): CliError {
  const stop = message.endsWith('?') ? '' : '.'
  return new CliError(`${message}${stop} See 'mx ${command} --help'`, { status: EXIT.usage })
}

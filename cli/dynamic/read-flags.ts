import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { type Field, toFlag, toLeaves } from './fields.ts'

/** What was typed behind a service, taken apart but not yet understood. */
export interface DynamicWords {
  /** That mean the endpoint. */
  readonly words: readonly string[]
  /** From the first flag on. */
  readonly flags: readonly string[]
}

/** Flags of every endpoint. A field of the same name goes before them, but for the first two. */
export const LOCAL_FLAGS: readonly (readonly [flag: string, description: string])[] = [
  ['help', 'Show this help'],
  [
    'json <request>',
    'The whole request: JSON, @file, or - for standard input; fields go before it',
  ],
  ['output <format>', 'json, yaml or raw (default: json)'],
  ['env <name>', 'Environment (default: the selected one)'],
  ['namespace <name>', 'Namespace the service is looked for in (default: that of the login)'],
  ['request_timeout <duration>', 'How long the call may take (default: 10s; of a stream: no end)'],
]
const ALWAYS_OURS = ['help', 'json']
const LETTERS: Readonly<Record<string, string>> = { '-o': '--output', '-h': '--help' }
const STANDARD_INPUT = '-'

/** The values given to the fields, and to our own flags. */
export interface FlagsInput {
  readonly fields: ReadonlyMap<Field, readonly string[]>
  /** By name; the last of each. */
  readonly own: Readonly<Record<string, string>>
}

export function splitWords(args: readonly string[]): DynamicWords {
  const at = args.findIndex((word) => word.startsWith('-'))
  return at < 0 ? { words: args, flags: [] } : { words: args.slice(0, at), flags: args.slice(at) }
}

/**
 * Understands flags by the fields there are: `--a_b`, `--a-b` and `--a.b` are one (reference 15.6). A bare `-` is `--json=-`.
 *
 * @param command in errors: `helloworld call`.
 * @throws {CliError} for one that is unknown or has no value, and for words that are none.
 */
export function readFlags(
  flags: readonly string[],
  fields: readonly Field[],
  command: string,
): FlagsInput {
  const all = listAll(fields)
  const given = new Map<Field, string[]>()
  const own: Record<string, string> = {}
  for (let i = 0; i < flags.length; i++) {
    const word = flags[i]!
    if (word === STANDARD_INPUT) {
      own['json'] = word
      continue
    }
    const [, typed, name = '', inline] =
      /^(--?([^=]+))(?:=(.*))?$/s.exec(LETTERS[word] ?? toLong(word)) ?? []
    if (typed === undefined || !word.startsWith('-'))
      throw usage(
        `unexpected argument ${JSON.stringify(word)}: fields are flags, such as --name=${word}`,
        command,
      )
    const field = findField(name, all)
    const plain = name.replaceAll('-', '_')
    const isOwn = field === undefined || ALWAYS_OURS.includes(plain)
    if (isOwn && !LOCAL_FLAGS.some(([each]) => each.split(' ')[0] === plain))
      throw usage(explainUnknown(name, all), command)
    const isBare = (isOwn && plain === 'help') || (!isOwn && /^bool/.test(field.type))
    const next = flags[i + 1]
    const value =
      inline ?? (isBare ? '' : next !== undefined && isValue(next) ? flags[++i]! : undefined)
    if (value === undefined) throw usage(`--${name} needs a value`, command)
    if (isOwn) own[plain] = value
    else given.set(field, [...(given.get(field) ?? []), value])
  }
  return { fields: given, own }
}

/** Messages as well as what they are made of. */
function listAll(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => [field, ...listAll(field.fields)])
}

function findField(name: string, all: readonly Field[]): Field | undefined {
  const plain = toPlain(name)
  const found = all.filter((field) => toPlain(field.path.join('_')) === plain)
  // A field with a _ in its name, and one of a message, may have the same flag: a dot tells them apart.
  return found.find(({ path }) => path.join('.') === name) ?? found[0]
}

function toPlain(name: string): string {
  return name.replaceAll(/[-.]/g, '_')
}

/** `-ojson` is `--output=json`. */
function toLong(word: string): string {
  return word.replace(/^-o=?(.+)$/s, '--output=$1')
}

/** Whether a word is the value of the flag before it: also `-`, and numbers below 0. */
function isValue(word: string): boolean {
  return !word.startsWith('-') || word === STANDARD_INPUT || /^-[\d.]/.test(word)
}

function explainUnknown(name: string, all: readonly Field[]): string {
  const known = [
    ...toLeaves(all).map((field) => toFlag(field).slice(2)),
    ...LOCAL_FLAGS.map(([flag]) => flag.split(' ')[0]!),
  ]
  const meant = suggest(toPlain(name), known)
  return `Unknown flag: ${name}${meant === undefined ? '' : `, did you mean --${meant}?`}`
}

function usage(message: string, command: string): CliError {
  const stop = message.endsWith('?') ? '' : '.'
  return new CliError(`${message}${stop} See 'mx ${command} --help'`, { status: EXIT.usage })
}

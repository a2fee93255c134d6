import { withTimeout } from '../../lib/async/timeout.ts'
import { parseFlag } from '../args/args.ts'
import { splitGlobals } from '../args/global-flags.ts'
import type { Command, CommandEntry } from '../command.ts'
import { COMMANDS } from '../commands.gen.ts'
import { toFields, toFlag, toLeaves } from '../dynamic/fields.ts'
import { findEndpoint, toWords } from '../dynamic/match-endpoint.ts'
import { listObjects } from '../runtime/objects.ts'
import { listEnvironments } from '../session/environments.ts'
import { findService, listServices } from '../session/find-services.ts'
import { openSession, type Session } from '../session/session.ts'

/** Somebody waits with a finger on the tab key. */
const ANSWER_MS = 1500
/** Commands about what runs, whose argument is a name of it. */
const OF_OBJECTS: ReadonlySet<string> = new Set(['kill', 'logs', 'status', 'update'])
/** Those about services that are registered. */
const OF_SERVICES: ReadonlySet<string> = new Set(['gen', 'registry', 'stats', 'call', 'stream'])
const FORMATS = ['text', 'json', 'yaml']
/** Words that mean themselves in every shell: bash puts them on the line unquoted, and services choose names of fields. */
const PLAIN = /^[\w@%+=:,./-]+$/
/** What every call of a service takes besides its fields. */
const CALL_FLAGS = ['--env=', '--namespace=', '--output=', '--json=', '--help']

/** {@link listCandidates}, a line each. */
export async function printCandidates(words: readonly string[]): Promise<void> {
  const found = await listCandidates(words)
  process.stdout.write(found.map((word) => `${word}\n`).join(''))
}

/**
 * What may stand in place of the last of `words`, which may be empty. Of what only a server knows nothing, where none answers.
 *
 * @param words behind `mx`.
 */
async function listCandidates(words: readonly string[]): Promise<readonly string[]> {
  const last = words.at(-1) ?? ''
  const all = await list(words.slice(0, -1), last)
  return [...new Set(all)].filter((word) => word.startsWith(last) && PLAIN.test(word)).sort()
}

async function list(before: readonly string[], last: string): Promise<readonly string[]> {
  const value = /^(--\w+=)/.exec(last)?.[1] ?? ''
  const flag = value.slice(0, -1) || (before.at(-1) ?? '')
  if (flag === '--env') return listEnvironments().map(({ name }) => value + name)
  if (['--output', '-o'].includes(flag)) return FORMATS.map((name) => value + name)
  const { globals, rest } = splitGlobals(before)
  const ask = <T>(use: (session: Session) => Promise<T>, none: T): Promise<T> =>
    askServer([...globals, ...before], use, none)
  const [command, ...args] = rest.filter((word) => !word.startsWith('-'))
  const entry = COMMANDS.find(({ name }) => name === command)
  if (command === undefined) {
    const names = [...COMMANDS.map(({ name }) => name), '--help', '--env=', '--namespace=']
    return last.startsWith('-') ? names : [...names, ...(await ask(listNames, []))]
  }
  const { subcommands } = entry ?? {}
  // Some commands have the name of a service, whose endpoints they lead to as well.
  const isService = entry === undefined || subcommands?.includes(args[0] ?? '') === false
  const own = entry !== undefined && (!isService || args.length === 0)
  const words = own ? await listOwn(entry, args, last) : []
  if (isService && !(own && last.startsWith('-')))
    return [...words, ...(await ask((session) => listOfService(session, command, args, last), []))]
  if (words.length > 0) return words
  if (OF_OBJECTS.has(command)) return ask(async (at) => (await listObjects(at)).map(toName), [])
  return OF_SERVICES.has(command) ? ask(listNames, []) : []
}

async function listOwn(
  { load }: CommandEntry,
  args: readonly string[],
  last: string,
): Promise<readonly string[]> {
  const { flags, settings, phrases } = await load()
  if (last.startsWith('-'))
    return ['--help', ...Object.keys(flags).map(toFlagWord), ...(await listSettingWords(settings))]
  return phrases.flatMap((phrase) => {
    const words = phrase.split(' ')
    return args.every((arg, i) => words[i] === arg) ? (words[args.length] ?? []) : []
  })
}

/** `-o, --output <format>` is `--output=`. */
function toFlagWord(flag: string): string {
  const { name, value } = parseFlag(flag)
  return value === '' ? `--${name}` : `--${name}=`
}

async function listSettingWords(command: Command['settings']): Promise<readonly string[]> {
  if (command === undefined) return []
  const { listSettings } = await import('../../platform/settings/command.ts')
  return listSettings(command).map(({ name, kind }) => `--${name}${kind === 'switch' ? '' : '='}`)
}

async function listOfService(
  session: Session,
  service: string,
  args: readonly string[],
  last: string,
): Promise<readonly string[]> {
  const endpoints = (await findService(session, service)).flatMap((version) => version.endpoints)
  if (!last.startsWith('-'))
    return endpoints.flatMap((endpoint) => {
      const words = toWords(service, endpoint).split(' ')
      return args.every((arg, i) => words[i] === arg) ? (words[args.length] ?? []) : []
    })
  const fields = toLeaves(toFields(findEndpoint(service, endpoints, args)))
  return [
    ...fields.map((field) => (field.type === 'bool' ? toFlag(field) : `${toFlag(field)}=`)),
    ...CALL_FLAGS,
  ]
}

/** What a server says within the time; `none` where there is none, nobody is logged in, or nothing is found. */
async function askServer<T>(
  words: readonly string[],
  use: (session: Session) => Promise<T>,
  none: T,
): Promise<T> {
  const flag = (name: string): object => {
    const at = words.findLastIndex((word) => word.split('=')[0] === `--${name}`)
    const given = words[at]?.includes('=') ? words[at]!.slice(name.length + 3) : words[at + 1]
    return at === -1 || given === undefined ? {} : { [name]: given }
  }
  // Loaded before the time of the server starts.
  await import('../../sdk/client/client.ts')
  try {
    const session = openSession({ ...flag('env'), ...flag('namespace') })
    try {
      return await withTimeout(use(session), ANSWER_MS)
    } finally {
      session.close()
    }
  } catch {
    // Somebody who has typed half a line is not to be told of it.
    return none
  }
}

async function listNames(session: Session): Promise<readonly string[]> {
  return (await listServices(session)).map(toName)
}

function toName({ name }: { readonly name: string }): string {
  return name
}

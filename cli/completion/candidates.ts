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

/** Timeout of a request to the server while the user waits for completions. */
const TIMEOUT_MS = 1500
/** Commands whose argument is the name of a runtime object. */
const OBJECT_COMMANDS: ReadonlySet<string> = new Set(['kill', 'logs', 'status', 'update'])
/** Commands whose argument is the name of a registered service. */
const SERVICE_COMMANDS: ReadonlySet<string> = new Set([
  'gen',
  'registry',
  'stats',
  'call',
  'stream',
])
const FORMATS = ['text', 'json', 'yaml']
/**
 * Matches words without a special meaning in any shell: bash inserts candidates unquoted, and field names come from
 * services.
 */
const PLAIN = /^[\w@%+=:,./-]+$/
/** Flags of every service call, in addition to its fields. */
const CALL_FLAGS = ['--env=', '--namespace=', '--output=', '--json=', '--help']

/** Prints the completion candidates, one per line. */
export async function printCandidates(words: readonly string[]): Promise<void> {
  const candidates = await listCandidates(words)
  process.stdout.write(candidates.map((word) => `${word}\n`).join(''))
}

/**
 * Candidates for the last of `words`, which may be empty. Without a server, service and object names are omitted.
 *
 * @param words command line after `mx`
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
  const query = <T>(use: (session: Session) => Promise<T>, none: T): Promise<T> =>
    queryServer([...globals, ...before], use, none)
  const [command, ...args] = rest.filter((word) => !word.startsWith('-'))
  const entry = COMMANDS.find(({ name }) => name === command)
  if (command === undefined) {
    const names = [...COMMANDS.map(({ name }) => name), '--help', '--env=', '--namespace=']
    return last.startsWith('-') ? names : [...names, ...(await query(listNames, []))]
  }
  const { subcommands } = entry ?? {}
  // A command that shares its name with a service also completes the service's endpoints.
  const isService = entry === undefined || subcommands?.includes(args[0] ?? '') === false
  const isCommand = entry !== undefined && (!isService || args.length === 0)
  const words = isCommand ? await listCommandWords(entry, args, last) : []
  if (isService && !(isCommand && last.startsWith('-')))
    return [
      ...words,
      ...(await query((session) => listServiceWords(session, command, args, last), [])),
    ]
  if (words.length > 0) return words
  if (OBJECT_COMMANDS.has(command))
    return query(async (session) => (await listObjects(session)).map(toName), [])
  return SERVICE_COMMANDS.has(command) ? query(listNames, []) : []
}

async function listCommandWords(
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

/** Converts `-o, --output <format>` to `--output=`. */
function toFlagWord(flag: string): string {
  const { name, value } = parseFlag(flag)
  return value === '' ? `--${name}` : `--${name}=`
}

async function listSettingWords(command: Command['settings']): Promise<readonly string[]> {
  if (command === undefined) return []
  const { listSettings } = await import('../../platform/settings/command.ts')
  return listSettings(command).map(({ name, kind }) => `--${name}${kind === 'switch' ? '' : '='}`)
}

async function listServiceWords(
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

/** Queries the server. Returns `none` on any error, such as an unreachable server or a missing login. */
async function queryServer<T>(
  words: readonly string[],
  use: (session: Session) => Promise<T>,
  none: T,
): Promise<T> {
  const flag = (name: string): object => {
    const at = words.findLastIndex((word) => word.split('=')[0] === `--${name}`)
    const value = words[at]?.includes('=') ? words[at]!.slice(name.length + 3) : words[at + 1]
    return at === -1 || value === undefined ? {} : { [name]: value }
  }
  // Loaded before the timeout starts.
  await import('../../sdk/client/client.ts')
  try {
    const session = openSession({ ...flag('env'), ...flag('namespace') })
    try {
      return await withTimeout(use(session), TIMEOUT_MS)
    } finally {
      session.close()
    }
  } catch {
    // Errors are not printed, because a message would disturb the line being typed.
    return none
  }
}

async function listNames(session: Session): Promise<readonly string[]> {
  return (await listServices(session)).map(toName)
}

function toName({ name }: { readonly name: string }): string {
  return name
}

import type { Endpoint, Service } from '../core/contracts/registry.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { formatRawJson, RawJson } from '../core/request/json/written-json.ts'
import { suggest } from '../lib/text/did-you-mean.ts'
import { parseJson, parseRawJson, parseRawJsonList, readJsonLines, readText } from './args/input.ts'
import { toTimeout } from './call/target.ts'
import { COMMANDS } from './commands.gen.ts'
import { type Field, toFields } from './dynamic/fields.ts'
import { formatEndpointHelp, formatServiceHelp } from './dynamic/help.ts'
import { findEndpoint, toWords } from './dynamic/match-endpoint.ts'
import { type FlagsInput, readFlags, splitWords } from './dynamic/read-flags.ts'
import { toRequest } from './dynamic/to-request.ts'
import { findEnvironment, listEnvironments } from './session/environments.ts'
import { findService, listServices } from './session/find-services.ts'
import { openSession, type Session, type SessionCall } from './session/session.ts'
import { CliError } from './ui/output.ts'
import { printReplies, printReply, toReplyFormat } from './ui/replies.ts'

/** Flags that locate the service. They are read before the fields of the endpoint are known. */
const LOCATION_FLAGS = ['env', 'namespace']
const NOT_FIELDS = [...LOCATION_FLAGS, 'output']

/**
 * `mx <service> [<endpoint>] --<field>=<value>`: calls a running service (reference 8.2, 8.3).
 *
 * @param globals flags before the service name
 * @throws {CliError}
 */
export async function runDynamic(
  service: string,
  args: readonly string[],
  globals: readonly string[],
): Promise<void> {
  const { words, flags } = splitWords(args)
  // A field with the same name as a flag follows the service name, so the flag must precede it.
  const locationFlags = LOCATION_FLAGS.filter(
    (name) => !globals.some((flag) => flag.startsWith(`--${name}=`)),
  )
  let located = peek(flags, locationFlags)
  // A `--env` value that is not an environment may be a field value.
  const { env: unknownEnv } = isEnvironment(located['env']) ? {} : located
  if (unknownEnv !== undefined) located = without(located, (name) => name === 'env')
  const checkEnv = (): unknown => unknownEnv !== undefined && findEnvironment(unknownEnv)
  for (;;) {
    const session = openSession({ ...peek(globals, LOCATION_FLAGS), ...located })
    try {
      const versions = await mustFind(session, service).catch((error: unknown) => {
        checkEnv()
        throw error
      })
      if (words.length === 0 && !hasFields(flags)) {
        process.stdout.write(formatServiceHelp(service, versions))
        return
      }
      const endpoints = versions.flatMap(({ endpoints }) => endpoints)
      const endpoint = findEndpoint(service, endpoints, words)
      const fields = toFields(endpoint)
      const isField = (name: string): boolean => fields.some(({ path }) => path[0] === name)
      if (!isField('env')) checkEnv()
      if (Object.keys(located).some(isField)) {
        located = without(located, isField)
        continue
      }
      if (isHelp(flags)) {
        process.stdout.write(formatEndpointHelp(service, endpoint, fields))
        return
      }
      const command = `${service} ${toWords(service, endpoint)}`
      const input = readFlags(flags, fields, command)
      const output = input.local['output'] ?? peek(globals, ['output'])['output']
      await call(session, { service, endpoint, input, output, command })
      return
    } finally {
      session.close()
    }
  }
}

interface DynamicCall {
  readonly service: string
  readonly endpoint: Endpoint
  readonly input: FlagsInput
  readonly output: string | undefined
  readonly command: string
}

async function call(
  session: Session,
  { service, endpoint, input, output, command }: DynamicCall,
): Promise<void> {
  const format = toReplyFormat(output)
  const { json, request_timeout: timeout } = input.local
  const options: SessionCall = {
    asText: true,
    ...(timeout !== undefined && { timeoutMs: toTimeout(timeout) }),
  }
  const isStream = endpoint.metadata['stream'] === 'true'
  const fields = toFields(endpoint)
  if (isStream && json === '-' && input.fields.size === 0) {
    const requests = readJsonLines('a line of standard input')
    return printReplies(format, session.stream<string>(service, endpoint.name, requests, options))
  }
  const text = json === undefined ? undefined : await readText(json, '--json')
  const isComplete = text !== undefined && input.fields.size === 0
  if (isStream && isComplete) {
    const requests = parseRawJsonList(text, '--json')
    return printReplies(format, session.stream<string>(service, endpoint.name, requests, options))
  }
  const request = isComplete
    ? parseRawJson(text, '--json')
    : await mergeFlags(text, input.fields, fields, command)
  if (isStream)
    return printReplies(format, session.stream<string>(service, endpoint.name, request, options))
  await printReply(format, await session.call<string>(service, endpoint.name, request, options))
}

/** Merges field flags into the request from `--json`. @throws {CliError} */
async function mergeFlags(
  text: string | undefined,
  values: FlagsInput['fields'],
  fields: readonly Field[],
  command: string,
): Promise<RawJson> {
  const base = text === undefined ? {} : parseJson(text, '--json')
  return new RawJson(formatRawJson(await toRequest(base, values, fields, command)))
}

/** Finds all versions of a service. @throws {CliError} for an unknown service, suggesting a similar name */
async function mustFind(session: Session, word: string): Promise<readonly Service[]> {
  const commands = COMMANDS.map(({ name }) => name)
  const versions = !isServiceName(word)
    ? []
    : await findService(session, word).catch((error: unknown) => {
        if (!(error instanceof CliError)) throw error
        // A command of that name exists, so the following word is unknown.
        if (commands.includes(word)) throw error
        const similar = suggest(word, commands)
        const hint = similar === undefined ? '' : `: did you mean ${similar}?`
        const { message, status } = error
        throw new CliError(`${message} (${word} is not an mx command${hint})`, {
          status,
          cause: error,
        })
      })
  if (versions.length > 0) return versions
  const services = await listServices(session).catch(() => [])
  const similar = suggest(word, [...commands, ...services.map(({ name }) => name)])
  const unknown = isServiceName(word) ? ' No service of this name is registered.' : ''
  const hint = similar === undefined ? unknown : ` Did you mean ${similar}?`
  throw new CliError(`Unrecognized mx command: ${word}.${hint} Please refer to 'mx --help'`)
}

/** True if the flags describe a request. A service without flags prints its help (reference 15.26). */
function hasFields(flags: readonly string[]): boolean {
  return (
    flags.some((word) => {
      const name = /^--([^=]+)/.exec(word)?.[1]
      return name === undefined ? word === '-' : !NOT_FIELDS.includes(name)
    }) && !isHelp(flags)
  )
}

function isHelp(flags: readonly string[]): boolean {
  return flags.includes('--help') || flags.includes('-h')
}

/** Reads the named flags and ignores all others. */
function peek(flags: readonly string[], names: readonly string[]): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [i, word] of flags.entries()) {
    const [, name, value = flags[i + 1]] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    if (name !== undefined && value !== undefined && names.includes(name)) values[name] = value
  }
  return values
}

function isEnvironment(name: string | undefined): boolean {
  return name === undefined || listEnvironments().some((each) => each.name === name)
}

function without(
  flags: Readonly<Record<string, string>>,
  isExcluded: (name: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !isExcluded(name)))
}

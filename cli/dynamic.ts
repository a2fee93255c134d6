import type { Endpoint, Service } from '../core/contracts/registry.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { formatWritten, WrittenJson } from '../core/request/json/written-json.ts'
import { suggest } from '../lib/text/did-you-mean.ts'
import { parseJson, readJsonLines, readText, toWritten, toWrittenList } from './args/input.ts'
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

/** Flags that say where the service is, and so hold before it is known which fields there are. */
const WHERE = ['env', 'namespace']
const NOT_FIELDS = [...WHERE, 'output']

/**
 * `mx <service> [<endpoint>] --<field>=<value>`: calls whatever service runs (reference 8.2, 8.3).
 *
 * @param globals flags that stood before the service.
 * @throws {CliError}
 */
export async function runDynamic(
  service: string,
  args: readonly string[],
  globals: readonly string[],
): Promise<void> {
  const { words, flags } = splitWords(args)
  // Where a field has the name of a flag, the flag stands before the service.
  const where = WHERE.filter((name) => !globals.some((flag) => flag.startsWith(`--${name}=`)))
  let taken = peek(flags, where)
  // What is no environment may be the value of a field.
  const { env: doubtful } = isEnvironment(taken['env']) ? {} : taken
  if (doubtful !== undefined) taken = without(taken, (name) => name === 'env')
  const checkDoubtful = (): unknown => doubtful !== undefined && findEnvironment(doubtful)
  for (;;) {
    const session = openSession({ ...peek(globals, WHERE), ...taken })
    try {
      const versions = await mustFind(session, service).catch((error: unknown) => {
        checkDoubtful()
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
      if (!isField('env')) checkDoubtful()
      if (Object.keys(taken).some(isField)) {
        taken = without(taken, isField)
        continue
      }
      if (isHelp(flags)) {
        process.stdout.write(formatEndpointHelp(service, endpoint, fields))
        return
      }
      const command = `${service} ${toWords(service, endpoint)}`
      const given = readFlags(flags, fields, command)
      const output = given.own['output'] ?? peek(globals, ['output'])['output']
      await call(session, { service, endpoint, given, output, command })
      return
    } finally {
      session.close()
    }
  }
}

interface DynamicCall {
  readonly service: string
  readonly endpoint: Endpoint
  readonly given: FlagsInput
  readonly output: string | undefined
  readonly command: string
}

async function call(
  session: Session,
  { service, endpoint, given, output, command }: DynamicCall,
): Promise<void> {
  const format = toReplyFormat(output)
  const { json, request_timeout: timeout } = given.own
  const options: SessionCall = {
    asText: true,
    ...(timeout !== undefined && { timeoutMs: toTimeout(timeout) }),
  }
  const isStream = endpoint.metadata['stream'] === 'true'
  const fields = toFields(endpoint)
  if (isStream && json === '-' && given.fields.size === 0) {
    const requests = readJsonLines('a line of standard input')
    return printReplies(format, session.stream<string>(service, endpoint.name, requests, options))
  }
  const text = json === undefined ? undefined : await readText(json, '--json')
  const isWhole = text !== undefined && given.fields.size === 0
  if (isStream && isWhole) {
    const requests = toWrittenList(text, '--json')
    return printReplies(format, session.stream<string>(service, endpoint.name, requests, options))
  }
  const request = isWhole
    ? toWritten(text, '--json')
    : await mergeFlags(text, given.fields, fields, command)
  if (isStream)
    return printReplies(format, session.stream<string>(service, endpoint.name, request, options))
  await printReply(format, await session.call<string>(service, endpoint.name, request, options))
}

/** The request of `--json` with the fields of flags over it. @throws {CliError} */
async function mergeFlags(
  text: string | undefined,
  given: FlagsInput['fields'],
  fields: readonly Field[],
  command: string,
): Promise<WrittenJson> {
  const whole = text === undefined ? {} : parseJson(text, '--json')
  return new WrittenJson(formatWritten(await toRequest(whole, given, fields, command)))
}

/** All versions. @throws {CliError} when nobody knows the service, with what may have been meant. */
async function mustFind(session: Session, word: string): Promise<readonly Service[]> {
  const commands = COMMANDS.map(({ name }) => name)
  const versions = !isServiceName(word)
    ? []
    : await findService(session, word).catch((error: unknown) => {
        if (!(error instanceof CliError)) throw error
        // It has a command of that name, with other words behind it.
        if (commands.includes(word)) throw error
        const meant = suggest(word, commands)
        const hint = meant === undefined ? '' : `: did you mean ${meant}?`
        const { message, status } = error
        throw new CliError(`${message} (${word} is no command of mx${hint})`, {
          status,
          cause: error,
        })
      })
  if (versions.length > 0) return versions
  const services = await listServices(session).catch(() => [])
  const meant = suggest(word, [...commands, ...services.map(({ name }) => name)])
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`
  throw new CliError(`Unrecognized mx command: ${word}.${hint} Please refer to 'mx --help'`)
}

/** Whether anything is said of a request: a service alone shows its help (reference 15.26). */
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

/** Some flags by name, whatever the others are. */
function peek(flags: readonly string[], names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [i, word] of flags.entries()) {
    const [, name, value = flags[i + 1]] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? []
    if (name !== undefined && value !== undefined && names.includes(name)) found[name] = value
  }
  return found
}

function isEnvironment(name: string | undefined): boolean {
  return name === undefined || listEnvironments().some((each) => each.name === name)
}

function without(
  flags: Readonly<Record<string, string>>,
  isLeftOut: (name: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(flags).filter(([name]) => !isLeftOut(name)))
}

import type { CAC } from 'cac'
import { GatewayError } from '../core/errors.ts'
import { suggest } from '../lib/text/did-you-mean.ts'
import { parseDuration } from '../lib/text/units.ts'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { readJsonLines, readText, toWritten, toWrittenList } from './args/input.ts'
import { findService, suggestService } from './session/find-services.ts'
import { SESSION_FLAGS, type Session, type SessionCall, withSession } from './session/session.ts'
import { OUTPUT_FLAGS } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'
import { printReplies, printReply, toReplyFormat } from './ui/replies.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  address: 'string',
  metadata: 'strings',
  request_timeout: 'string',
} as const
const STANDARD_INPUT = '-'

/** `mx call`: one request, one reply (reference 8.4). @throws {CliError} */
export async function runCall(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { service, endpoint, request } = toCall('call', words)
  const format = toReplyFormat(flags.output)
  const options = toOptions(flags)
  const body = toWritten(await readText(request, 'the request'), 'the request')
  await withSession(flags, async (session) => {
    const reply = session.call<string>(service, endpoint, body, options)
    await printReply(format, await orSuggest(session, service, endpoint, reply))
  })
}

/** `mx stream`: prints each reply as it comes (reference 8.4); with `-` each line of standard input is a request. @throws {CliError} */
export async function runStream(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const { service, endpoint, request } = toCall('stream', words)
  const format = toReplyFormat(flags.output)
  const options = toOptions(flags)
  const requests =
    request === STANDARD_INPUT
      ? readJsonLines('a line of standard input')
      : toWrittenList(await readText(request, 'the request'), 'the request')
  await withSession(flags, (session) => {
    const printed = printReplies(
      format,
      session.stream<string>(service, endpoint, requests, options),
    )
    return orSuggest(session, service, endpoint, printed)
  })
}

/** What a call comes to; where service or endpoint are not there, the one that may be meant. */
async function orSuggest<T>(
  session: Session,
  service: string,
  endpoint: string,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    const meant = await suggestTarget(session, service, endpoint, error)
    if (meant === undefined || !(error instanceof CliError)) throw error
    const { message, status } = error
    const text = message.replace(/\. See .*$/, `, did you mean ${meant}?`)
    throw new CliError(text, { status, cause: error })
  }
}

async function suggestTarget(
  session: Session,
  service: string,
  endpoint: string,
  error: unknown,
): Promise<string | undefined> {
  if (!(error instanceof CliError && error.cause instanceof GatewayError)) return undefined
  if (error.cause.code !== 404) return undefined
  if (error.status === EXIT.unreachable) return suggestService(session, service)
  if (error.status !== EXIT.unknownMethod) return undefined
  const versions = await findService(session, service).catch(() => [])
  const endpoints = versions.flatMap((version) => version.endpoints)
  return suggest(
    endpoint,
    endpoints.map(({ name }) => name),
  )
}

function toCall(command: string, words: readonly string[]) {
  const [service, endpoint, request = '{}', ...more] = words
  if (service === undefined || endpoint === undefined || more.length > 0)
    throw new CliError(
      `${more.length > 0 ? 'Too many' : 'Too few'} arguments, expected SERVICE ENDPOINT [REQUEST]. See 'mx ${command} --help'`,
      { status: EXIT.usage },
    )
  if (!/^[^.]+\.[^.]+$/.test(endpoint))
    throw new CliError(`Method name "${endpoint}" invalid format. Expecting service.endpoint`, {
      status: EXIT.malformed,
    })
  return { service, endpoint, request }
}

function toOptions(flags: CommandLine<typeof FLAGS>['flags']): SessionCall {
  const { address, metadata = [], request_timeout: timeout } = flags
  return {
    asText: true,
    ...(address !== undefined && { address }),
    ...(timeout !== undefined && { timeoutMs: toTimeout(timeout) }),
    metadata: Object.fromEntries(metadata.map(toPair)),
  }
}

function toPair(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new CliError(`--metadata must be name=value, got ${JSON.stringify(text)}`, {
    status: EXIT.usage,
  })
}

/** Milliseconds. @throws {CliError} */
export function toTimeout(text: string): number {
  try {
    const timeoutMs = parseDuration(text)
    if (timeoutMs > 0) return timeoutMs
  } catch {
    // Told below.
  }
  throw new CliError(`--request_timeout must be a duration such as 500ms or 30s, got ${text}`, {
    status: EXIT.usage,
  })
}

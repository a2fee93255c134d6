import { GatewayError } from '../../core/errors.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { parseDuration } from '../../lib/text/units.ts'
import type { FlagsOf } from '../args/args.ts'
import { findService, suggestService } from '../session/find-services.ts'
import type { Session, SessionCall } from '../session/session.ts'
import { CliError, EXIT, usageError } from '../ui/output.ts'

/** Arguments of `mx call` and `mx stream`. */
export const TARGET_USAGE = '<service> <Handler.Method> [<request> | @<file> | -]'

interface Target {
  readonly service: string
  readonly endpoint: string
  /** Request argument: JSON, `@file` or `-`. */
  readonly request: string
}

/** Flags of `mx call` and `mx stream`. */
export const CALL_FLAGS = {
  '-o, --output <format>': 'json, yaml, or raw: JSON on one line (default: json)',
  '--metadata <name=value>...': 'Metadata of the call',
  '--address <host:port>':
    'Address of the service, bypassing the registry; it receives your access token',
}
interface CallFlags extends FlagsOf<typeof CALL_FLAGS> {
  readonly request_timeout?: string
}

/** Awaits a call. The error for an unknown service or endpoint suggests a similar name. */
export async function orSuggest<T>(
  session: Session,
  { service, endpoint }: Target,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    const similar = await suggestName(session, service, endpoint, error)
    if (similar === undefined || !(error instanceof CliError)) throw error
    const { message, status } = error
    const text = message.replace(/\. See .*$/, `, did you mean ${similar}?`)
    throw new CliError(text, { status, cause: error })
  }
}

async function suggestName(
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

export function toCall(command: string, words: readonly string[]): Target {
  const [service, endpoint, request = '{}', ...more] = words
  if (service === undefined || endpoint === undefined || more.length > 0)
    throw usageError(
      command,
      `${more.length > 0 ? 'Too many' : 'Too few'} arguments, expected SERVICE ENDPOINT [REQUEST].`,
    )
  if (!/^[^.]+\.[^.]+$/.test(endpoint))
    throw new CliError(`Method name "${endpoint}" invalid format. Expecting service.endpoint`, {
      status: EXIT.malformed,
    })
  return { service, endpoint, request }
}

export function toSessionCall(flags: CallFlags): SessionCall {
  const { address, metadata = [], request_timeout: timeout } = flags
  return {
    asText: true,
    ...(address !== undefined && { address }),
    ...(timeout !== undefined && { timeoutMs: toTimeout(timeout) }),
    metadata: Object.fromEntries(metadata.map(toPair)),
  }
}

function toPair(text: string): readonly [string, string] {
  const equals = text.indexOf('=')
  if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)]
  throw new CliError(`--metadata must be name=value, got ${JSON.stringify(text)}`, {
    status: EXIT.usage,
  })
}

/** Parses a timeout in milliseconds. @throws {CliError} */
export function toTimeout(text: string): number {
  try {
    const timeoutMs = parseDuration(text)
    if (timeoutMs > 0) return timeoutMs
  } catch {
    // The error below names the valid forms.
  }
  throw new CliError(`--request_timeout must be a duration such as 500ms or 30s, got ${text}`, {
    status: EXIT.usage,
  })
}

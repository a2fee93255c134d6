import { GatewayError } from '../../../core/errors.ts'
import { eventsFull, eventsUnavailable, rejectInput } from '../../../domain/events/errors.ts'

/** What JetStream says besides a text (nats-server: errors.json). */
interface ApiError {
  readonly code: number
  readonly status: number
}

const CONSUMER_NOT_FOUND = 10014
const STREAM_NOT_FOUND = 10059
/** The name is taken, by one that is set up differently. */
const TAKEN = [10013, 10058, 10148]
/** Limits of the account or the server: room, streams, consumers. */
const NO_ROOM = [10002, 10023, 10026, 10027, 10028, 10047, 10122]
/** An event could not be stored: for want of room, or otherwise. */
const STORE_FAILED = 10077
const WANT_OF_ROOM = /exceeded|no space/i

/** Whatever failed, as callers get it: a refusal (403), no room (507), what JetStream cannot do (500), otherwise an outage (503). */
export function toFailure(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (!(error instanceof Error)) return eventsUnavailable(error)
  if (error.name === 'PermissionViolationError') return notPermitted(error.message)
  const { cause } = error
  if (cause instanceof Error && cause.name === 'PermissionViolationError')
    return notPermitted(cause.message)
  const api = toApiError(error)
  if (api === undefined) return eventsUnavailable(error)
  return toApiFailure(api, error)
}

/** @param said what the server said: `Permissions Violation for Publish to "..."`. */
export function notPermitted(said: string): GatewayError {
  return rejectInput(403, `NATS does not permit it: ${said}`)
}

/** What came in place of an acknowledgement. */
export function toApiFailure({ code, status }: ApiError, error: Error): GatewayError {
  if (NO_ROOM.includes(code) || (code === STORE_FAILED && WANT_OF_ROOM.test(error.message)))
    return eventsFull(error)
  return status === 503
    ? eventsUnavailable(error)
    : rejectInput(500, `JetStream refuses it: ${error.message}`)
}

/** There is no such stream, or no such consumer. */
export function isMissing(error: unknown): boolean {
  const code = toApiError(error)?.code
  return code === STREAM_NOT_FOUND || code === CONSUMER_NOT_FOUND
}

/** Somebody else has made it meanwhile. */
export function isNameInUse(error: unknown): boolean {
  return TAKEN.includes(toApiError(error)?.code ?? 0)
}

/** The library's own error; told by what it has, the library being loaded by need. */
function toApiError(error: unknown): ApiError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('status' in error)) return undefined
  const { code, status } = error
  return typeof code === 'number' && typeof status === 'number' ? { code, status } : undefined
}

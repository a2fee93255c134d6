import { GatewayError } from '../../../core/errors.ts'
import { eventsError, eventsFull, eventsUnavailable } from '../../../domain/events/errors.ts'

/** Codes of a JetStream error (nats-server: errors.json). */
interface ApiError {
  readonly code: number
  readonly status: number
}

const CONSUMER_NOT_FOUND = 10014
const STREAM_NOT_FOUND = 10059
/** The name is in use with a different configuration. */
const NAME_IN_USE = [10013, 10058, 10148]
/** A limit of the account or server was reached: storage, streams or consumers. */
const NO_SPACE = [10002, 10023, 10026, 10027, 10028, 10047, 10122]
/** The event could not be stored, for example because the disk is full. */
const STORE_FAILED = 10077
const OUT_OF_SPACE = /exceeded|no space/i

/**
 * Converts an error for callers: 403 if denied, 507 if full, 500 if rejected by JetStream,
 * otherwise 503.
 */
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

/** @param reason server message such as `Permissions Violation for Publish to "..."`. */
export function notPermitted(reason: string): GatewayError {
  return eventsError(403, `denied by NATS: ${reason}`)
}

/** Converts an error response to a published message. */
export function toApiFailure({ code, status }: ApiError, error: Error): GatewayError {
  if (NO_SPACE.includes(code) || (code === STORE_FAILED && OUT_OF_SPACE.test(error.message)))
    return eventsFull(error)
  return status === 503
    ? eventsUnavailable(error)
    : eventsError(500, `rejected by JetStream: ${error.message}`)
}

/** Returns whether the error means that the stream or consumer does not exist. */
export function isMissing(error: unknown): boolean {
  const code = toApiError(error)?.code
  return code === STREAM_NOT_FOUND || code === CONSUMER_NOT_FOUND
}

/**
 * Returns whether the error means that another client created the stream or consumer in the
 * meantime.
 */
export function isNameInUse(error: unknown): boolean {
  return NAME_IN_USE.includes(toApiError(error)?.code ?? 0)
}

/** Recognizes the error by its properties, because the library is loaded on demand. */
function toApiError(error: unknown): ApiError | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('status' in error)) return undefined
  const { code, status } = error
  return typeof code === 'number' && typeof status === 'number' ? { code, status } : undefined
}

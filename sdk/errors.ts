import { STATUS_CODES } from 'node:http'
import { GatewayError, type GatewayErrorOptions } from '../core/errors.ts'
import { isErrorCode, parseFail } from '../core/rpc/error-codec.ts'
import { FAIL_MAX_BYTES } from '../core/rpc/ws/frames.ts'

const NAME = 'ServiceError'

/**
 * A typed error with an id, a status and a detail (specification: Errors 2).
 *
 * Services throw it, usually through one of the constructors below, and callers catch it with
 * `error instanceof ServiceError`. Every {@link GatewayError} is an instance, too, so gateway, services and clients
 * share one type of expected errors.
 */
export class ServiceError extends GatewayError {
  /**
   * @param code status from 400 to 599.
   * @throws {TypeError} for another code.
   */
  constructor(id: string, code: number, detail: string, options?: ServiceErrorOptions) {
    if (!isErrorCode(code))
      throw new TypeError(`the code of an error must be from 400 to 599, got ${String(code)}`)
    super(id, code, detail, options)
    this.name = NAME
  }

  /** True for every typed error, including a `GatewayError`. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: in a subclass, `this` is the subclass.
    const kind: unknown = this === ServiceError ? GatewayError : this
    return Function.prototype[Symbol.hasInstance].call(kind, value)
  }
}

/** Rejects with a remote error and the stack of the awaiting program. Adds no cost to successful calls. */
export async function rejectTyped(error: GatewayError): Promise<never> {
  // The stack is only available after this promise has been adopted by the caller's.
  await undefined
  await undefined
  error.name = NAME
  Error.captureStackTrace(error)
  throw error
}

/** Additional properties of an error: `cause` for the log, `headers` for the response. */
export type ServiceErrorOptions = GatewayErrorOptions

/**
 * Creates an error with a fixed status.
 *
 * @param id source of the error: the name of the service, or a custom id.
 * @param detail human-readable text that is sent to the caller.
 */
export type ErrorConstructor = (
  id: string,
  detail: string,
  options?: ServiceErrorOptions,
) => ServiceError

const utf8 = new TextDecoder()

const of =
  (code: number): ErrorConstructor =>
  (id, detail, options) =>
    new ServiceError(id, code, detail, options)

/** 400: the request is invalid. */
export const badRequest: ErrorConstructor = of(400)
/** 401: authentication is required, or access is denied. */
export const unauthorized: ErrorConstructor = of(401)
/** 403: access is denied for every caller. */
export const forbidden: ErrorConstructor = of(403)
/** 404: not found. */
export const notFound: ErrorConstructor = of(404)
/** 405: the method is not supported. */
export const methodNotAllowed: ErrorConstructor = of(405)
/** 408: timeout. Clients retry such a call (specification: Errors 5). */
export const timeout: ErrorConstructor = of(408)
/** 409: conflict with the current state of the resource. */
export const conflict: ErrorConstructor = of(409)
/** 412: a precondition of the caller is not met. */
export const preconditionFailed: ErrorConstructor = of(412)
/** 429: rate limit exceeded. */
export const tooManyRequests: ErrorConstructor = of(429)
/** 500: internal error of the service. Clients retry such a call (specification: Errors 5). */
export const internal: ErrorConstructor = of(500)
/** 501: not implemented. */
export const notImplemented: ErrorConstructor = of(501)
/** 502: an upstream service failed. */
export const badGateway: ErrorConstructor = of(502)
/** 503: temporarily unavailable. */
export const unavailable: ErrorConstructor = of(503)
/** 504: an upstream service timed out. */
export const gatewayTimeout: ErrorConstructor = of(504)

/**
 * Parses an error of another program: `{Id, Code, Detail, Status}` in any letter case (reference 15.4), such as a
 * response body of the gateway.
 *
 * Never throws: any other body results in an error with `status` and the reason phrase as detail.
 *
 * @param id id to use if the error has none: the called service.
 */
export function parseServiceError(
  body: string | Uint8Array,
  id: string,
  status = 500,
): ServiceError {
  const isRead = body.length <= FAIL_MAX_BYTES
  const text = typeof body === 'string' ? body : utf8.decode(isRead ? body : undefined)
  const error = isRead ? parseFail(text, id) : undefined
  if (error !== undefined) return error
  const code = isErrorCode(status) ? status : 500
  return new GatewayError(id, code, STATUS_CODES[code] ?? 'error')
}

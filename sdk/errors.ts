import { STATUS_CODES } from 'node:http'
import { GatewayError, type GatewayErrorOptions } from '../core/errors.ts'
import { isErrorCode, parseFail } from '../core/rpc/error-codec.ts'
import { FAIL_MAX_BYTES } from '../core/rpc/ws/frames.ts'

const NAME = 'ServiceError'

/**
 * An error with a meaning for callers: an id, a status and a detail (specification: Errors 2).
 *
 * Services throw it, mostly by one of the constructors below, and callers catch it: `error instanceof ServiceError`.
 * Every {@link GatewayError} is one: gateway, services and clients know one kind of expected error.
 */
export class ServiceError extends GatewayError {
  /**
   * @param code from 400 to 599.
   * @throws {TypeError} for another code.
   */
  constructor(id: string, code: number, detail: string, options?: ServiceErrorOptions) {
    if (!isErrorCode(code))
      throw new TypeError(`the code of an error must be from 400 to 599, got ${String(code)}`)
    super(id, code, detail, options)
    this.name = NAME
  }

  /** Whether a value is an expected error, by whichever of the two names it was made. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: classes that extend this one ask here, too, each for itself.
    const kind: unknown = this === ServiceError ? GatewayError : this
    return Function.prototype[Symbol.hasInstance].call(kind, value)
  }
}

/**
 * Rejects with an error that came from elsewhere, as the program that waits for it should see it: with the stack of whoever
 * awaits, which costs nothing as long as all goes well.
 */
export async function rejectTyped(error: GatewayError): Promise<never> {
  // Only once this promise was adopted by the one the program has does the stack lead there.
  await undefined
  await undefined
  error.name = NAME
  Error.captureStackTrace(error)
  throw error
}

/** What an error carries besides id, status and detail: a `cause` for the log, `headers` for the reply. */
export type ServiceErrorOptions = GatewayErrorOptions

/**
 * Builds an error of one status.
 *
 * @param id who speaks: the name of the service, or an id of its choice.
 * @param detail what callers are told, for people.
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

/** 400: the request makes no sense. */
export const badRequest: ErrorConstructor = of(400)
/** 401: nobody, or somebody who may not, calls. */
export const unauthorized: ErrorConstructor = of(401)
/** 403: refused, whoever calls. */
export const forbidden: ErrorConstructor = of(403)
/** 404: there is no such thing. */
export const notFound: ErrorConstructor = of(404)
/** 405: not with this method. */
export const methodNotAllowed: ErrorConstructor = of(405)
/** 408: it took too long. Clients repeat such a call (specification: Errors 5). */
export const timeout: ErrorConstructor = of(408)
/** 409: it contradicts what is there. */
export const conflict: ErrorConstructor = of(409)
/** 412: what the caller made a condition is not so. */
export const preconditionFailed: ErrorConstructor = of(412)
/** 429: too often. */
export const tooManyRequests: ErrorConstructor = of(429)
/** 500: a fault of the service. Clients repeat such a call (specification: Errors 5). */
export const internal: ErrorConstructor = of(500)
/** 501: not built yet. */
export const notImplemented: ErrorConstructor = of(501)
/** 502: a service behind this one failed. */
export const badGateway: ErrorConstructor = of(502)
/** 503: not now. */
export const unavailable: ErrorConstructor = of(503)
/** 504: a service behind this one took too long. */
export const gatewayTimeout: ErrorConstructor = of(504)

/**
 * Reads an error as another program wrote it: `{Id, Code, Detail, Status}` in any letter case (reference 15.4), such as
 * the body of a reply of the gateway.
 *
 * Never throws: a body that is no such JSON gives an error of `status`, whose detail is the reason phrase.
 *
 * @param id where the error names none: the service that was called.
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

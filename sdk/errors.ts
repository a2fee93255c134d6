import { STATUS_CODES } from 'node:http'
import { GatewayError, type GatewayErrorOptions } from '../core/errors.ts'

/**
 * An error with a meaning for callers: an id, a status and a detail (specification: Errors 2).
 *
 * Services throw it, mostly by one of the constructors below, and callers catch it: `error instanceof ServiceError`.
 * The same class as {@link GatewayError}, so that gateway, services and clients know one kind of expected error.
 */
export const ServiceError: typeof GatewayError = GatewayError
export type ServiceError = GatewayError

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

const of =
  (code: number): ErrorConstructor =>
  (id, detail, options) =>
    new GatewayError(id, code, detail, options)

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

/** Longest error that is read, bytes or characters. */
const MAX_LENGTH = 64 * 1024
const utf8 = new TextDecoder()

/**
 * Reads an error as another program wrote it: `{Id, Code, Detail, Status}` in any letter case (reference 15.4).
 *
 * Never throws: a body that is no such JSON gives an error of `status` whose detail is the reason phrase.
 *
 * @param body text, bytes of UTF-8, or what JSON made of them.
 * @param id where the error names none: the service that was called.
 * @param status where the error names no code from 400 to 599.
 */
export function parseServiceError(body: unknown, id: string, status = 500): ServiceError {
  const fields = toFields(body)
  const told = fields.get('code')
  const code = isErrorCode(told) ? told : isErrorCode(status) ? status : 500
  return new GatewayError(
    toText(fields.get('id')) ?? id,
    code,
    toText(fields.get('detail')) ?? STATUS_CODES[code] ?? 'error',
  )
}

/** Whatever was thrown as an error callers may see: typed ones as they are, if their status is an error's; all others as a 500 that tells nothing. */
export function toServiceError(thrown: unknown, id: string): ServiceError {
  const error = GatewayError.from(thrown, id)
  return isErrorCode(error.code) ? error : GatewayError.from({ cause: thrown }, id)
}

function isErrorCode(code: unknown): code is number {
  return Number.isInteger(code) && (code as number) >= 400 && (code as number) <= 599
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function toFields(body: unknown): ReadonlyMap<string, unknown> {
  const value = typeof body === 'string' || body instanceof Uint8Array ? parse(body) : body
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map()
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]))
}

function parse(body: string | Uint8Array): unknown {
  if (body.length > MAX_LENGTH) return undefined
  try {
    return JSON.parse(typeof body === 'string' ? body : utf8.decode(body))
  } catch {
    return undefined
  }
}

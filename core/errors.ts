import { STATUS_CODES } from 'node:http'

/** Body of every error response (specification: Error response body). */
export interface ErrorBody {
  /** Service name, or an id chosen by the service. */
  readonly Id: string
  /** HTTP status code. */
  readonly Code: number
  readonly Detail: string
  /** Standard reason phrase of `Code`; empty if `Code` has none. */
  readonly Status: string
}

/** Body that replaces {@link ErrorBody}. */
export interface ErrorPage {
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** Id of errors of the gateway itself. */
export const GATEWAY_ID = 'go.mx.api'

export interface GatewayErrorOptions {
  /** Logged, never sent to a client. */
  readonly cause?: unknown
  /** Headers of the response: name, value, name, value… */
  readonly headers?: readonly string[]
  /** False if the call must not be retried even though it failed with 500 or 408. @default true */
  readonly repeatable?: boolean
}

/**
 * An error that is sent to the client. It captures no stack trace, which makes floods of bad requests cheap.
 */
export class GatewayError extends Error {
  readonly id: string
  readonly code: number
  readonly headers: readonly string[] | undefined
  readonly repeatable: boolean

  constructor(id: string, code: number, detail: string, options: GatewayErrorOptions = {}) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = limit
    this.name = 'GatewayError'
    // Untyped callers may pass a value that JSON cannot represent, such as a cyclic object or a bigint.
    this.id = typeof id === 'string' ? id : String(id ?? '')
    this.code = code
    this.headers = options.headers
    this.repeatable = options.repeatable ?? true
  }

  /** Converts a thrown value. Anything except a {@link GatewayError} becomes a 500 without details. */
  static from(thrown: unknown, id: string = GATEWAY_ID): GatewayError {
    if (thrown instanceof GatewayError) return thrown
    return new GatewayError(id, 500, 'internal error', { cause: thrown })
  }

  toBody(): ErrorBody {
    return {
      Id: this.id,
      Code: this.code,
      Detail: this.message,
      Status: STATUS_CODES[this.code] ?? '',
    }
  }
}

/** Formats the error as `application/json`, or as RFC 9457 problem details if the client prefers them. */
export function formatError(error: GatewayError, accept: string): { type: string; body: string } {
  if (accept.includes('application/problem+json')) {
    const { Id, Code, Detail, Status } = error.toBody()
    const body = JSON.stringify({
      type: 'about:blank',
      title: Status,
      status: Code,
      detail: Detail,
      instance: Id,
    })
    return { type: 'application/problem+json', body }
  }
  return { type: 'application/json', body: JSON.stringify(error.toBody()) }
}

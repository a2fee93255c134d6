/** Kind of a failure; decides on the pause before the next attempt. */
export type AcmeErrorKind = 'unavailable' | 'rateLimited' | 'rejected'

/** Error response of an ACME server, or its outage. */
export class AcmeError extends Error {
  readonly kind: AcmeErrorKind
  /** Milliseconds; undefined without `Retry-After`. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    options: ErrorOptions & {
      readonly kind: AcmeErrorKind
      readonly retryAfterMs?: number | undefined
    },
  ) {
    super(message, options)
    this.name = 'AcmeError'
    this.kind = options.kind
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Parses `Retry-After` (RFC 9110 §10.2.3), seconds or a date, to milliseconds; undefined if absent or invalid. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

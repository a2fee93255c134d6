/** Kind of a failure, which determines the pause before the next attempt. */
export type AcmeErrorKind = 'unavailable' | 'rateLimited' | 'rejected'

/** Error response from an ACME server, or an outage of the server. */
export class AcmeError extends Error {
  readonly kind: AcmeErrorKind
  /** Value of `Retry-After` in milliseconds; undefined if absent. */
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

/**
 * Parses `Retry-After` (RFC 9110 §10.2.3), in seconds or as a date, and converts it to
 * milliseconds. Returns undefined if absent or invalid.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

/** Why a certificate was not issued: `away`: the directory did not answer, `limited`: it wants to be left alone, `refused`: it said no. */
export type AcmeErrorKind = 'away' | 'limited' | 'refused'

/** What an ACME server answered instead of what was asked for, or why it did not. */
export class AcmeError extends Error {
  readonly kind: AcmeErrorKind
  /** How long it wants to be left alone, milliseconds; undefined: it did not say. */
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

/** Milliseconds a `Retry-After` field asks for (RFC 9110 §10.2.3): seconds, or a date. Undefined: none, or none that makes sense. */
export function parseRetryAfter(field: string | undefined, nowMs: number): number | undefined {
  if (field === undefined) return undefined
  if (/^\d{1,9}$/.test(field)) return Number(field) * 1000
  const atMs = Date.parse(field)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}

import type { AcmeError, AcmeErrorKind } from './acme-error.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Maximum accepted `Retry-After`: one week, the longest rate limit window of Let's Encrypt. */
const RETRY_AFTER_MAX_MS = 7 * 24 * HOUR_MS

interface Steps {
  readonly firstMs: number
  readonly factor: number
  readonly maxMs: number
}

/**
 * Pauses by kind of failure. Rejections count towards rate limits (Let's Encrypt: five per hour and
 * host), outages do not.
 */
const STEPS: Readonly<Record<AcmeErrorKind, Steps>> = {
  unavailable: { firstMs: 10_000, factor: 2, maxMs: 10 * MINUTE_MS },
  rejected: { firstMs: MINUTE_MS, factor: 3, maxMs: 6 * HOUR_MS },
  rateLimited: { firstMs: HOUR_MS, factor: 2, maxMs: 24 * HOUR_MS },
}

/**
 * Returns the milliseconds until the next attempt for a host.
 *
 * @param failures consecutive failures before this one.
 */
export function toRetryMs(
  { kind, retryAfterMs = 0 }: Pick<AcmeError, 'kind' | 'retryAfterMs'>,
  failures: number,
  random: () => number,
): number {
  const { firstMs, factor, maxMs } = STEPS[kind]
  const ms = Math.min(maxMs, firstMs * factor ** failures)
  // Jitter prevents gateways and hosts that failed together from retrying simultaneously. It only
  // adds delay.
  const jitter = 1 + random() / 4
  return Math.round(Math.max(ms, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS)) * jitter)
}

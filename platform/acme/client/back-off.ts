import type { AcmeError, AcmeErrorKind } from './acme-error.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** What a directory may ask for, at most: a week is the longest of the limits of Let's Encrypt. */
const RETRY_AFTER_MAX_MS = 7 * 24 * HOUR_MS

interface Steps {
  readonly firstMs: number
  readonly factor: number
  readonly mostMs: number
}

/** A no counts against limits (Let's Encrypt: five an hour and host); that nobody answers does not. */
const STEPS: Readonly<Record<AcmeErrorKind, Steps>> = {
  away: { firstMs: 10_000, factor: 2, mostMs: 10 * MINUTE_MS },
  refused: { firstMs: MINUTE_MS, factor: 3, mostMs: 6 * HOUR_MS },
  limited: { firstMs: HOUR_MS, factor: 2, mostMs: 24 * HOUR_MS },
}

/**
 * Milliseconds until a host may be tried again.
 *
 * @param failures before this one, one after the other.
 */
export function toRetryMs(
  { kind, retryAfterMs = 0 }: Pick<AcmeError, 'kind' | 'retryAfterMs'>,
  failures: number,
  random: () => number,
): number {
  const { firstMs, factor, mostMs } = STEPS[kind]
  const ms = Math.min(mostMs, firstMs * factor ** failures)
  // Later, never sooner: gateways and hosts that failed together are not to come back together.
  const spread = 1 + random() / 4
  return Math.round(Math.max(ms, Math.min(retryAfterMs, RETRY_AFTER_MAX_MS)) * spread)
}

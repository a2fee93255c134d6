/** Range of the pauses between attempts, in milliseconds. */
export interface BackOffRange {
  readonly minMs: number
  readonly maxMs: number
}

/** Exponential back-off of one client. */
export interface BackOff {
  /** Milliseconds until the next attempt, after one that failed. */
  readonly next: () => number
  /** After one that succeeded. */
  readonly reset: () => void
}

const RANGE: BackOffRange = { minMs: 50, maxMs: 5000 }

/** Exponential back-off with jitter, from 50 ms to 5 s by default. */
export function createBackOff(range: BackOffRange = RANGE): BackOff {
  let failures = 0
  return {
    next: () => toBackOffMs(failures++, range),
    reset() {
      failures = 0
    },
  }
}

/**
 * Milliseconds until the next attempt: `minMs`, doubled with each failure in a row up to `maxMs`, jittered by half. Clients
 * that lost their server at the same time do not return at the same time.
 *
 * @param failures in a row, before the last one.
 */
export function toBackOffMs(failures: number, { minMs, maxMs }: BackOffRange): number {
  return toJittered(Math.min(maxMs, minMs * 2 ** failures), 0.5)
}

/** The value less a random part of up to `share` of it. */
export function toJittered(value: number, share: number): number {
  return value * (1 - share * Math.random())
}

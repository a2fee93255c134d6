/** Range of pauses between attempts, in milliseconds. */
export interface BackOffRange {
  readonly minMs: number
  readonly maxMs: number
}

/** Exponential back-off of a client. */
export interface BackOff {
  /** Must be called after a failure. Returns the milliseconds until the next attempt. */
  readonly next: () => number
  /** Must be called after a success. */
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
 * Returns the milliseconds until the next attempt: `minMs`, doubled with each consecutive failure up to `maxMs`, with a
 * jitter of half, so that clients that lost their server simultaneously do not reconnect simultaneously.
 *
 * @param failures number of consecutive failures before the last one.
 */
export function toBackOffMs(failures: number, { minMs, maxMs }: BackOffRange): number {
  return toJittered(Math.min(maxMs, minMs * 2 ** failures), 0.5)
}

/** Reduces a value by a random share of up to `share`. */
export function toJittered(value: number, share: number): number {
  return value * (1 - share * Math.random())
}

export interface Clock {
  /** Wall clock, Unix time in milliseconds; may be wrong and may jump. */
  readonly nowMs: () => number
  /** Monotonic clock in milliseconds, for waits. */
  readonly elapsedMs: () => number
}

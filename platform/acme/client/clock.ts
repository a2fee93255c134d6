export interface Clock {
  /** Wall clock, Unix time in milliseconds. It may be wrong and may jump. */
  readonly nowMs: () => number
  /** Monotonic clock in milliseconds, used for waits. */
  readonly elapsedMs: () => number
}

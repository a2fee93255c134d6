/** What time it is. */
export interface Clock {
  /** Unix time, which may be wrong, and set right at any moment. */
  readonly nowMs: () => number
  /** Milliseconds since some moment of this process: for waiting. */
  readonly elapsedMs: () => number
}

/** A registry outage. */
export interface Outage {
  /** The latest error. */
  readonly reason: Error
  /** Duration so far, in milliseconds. */
  readonly durationMs: number
}

/** State of an outage: `started`, `ongoing` (reported every minute), or `ended`. */
export type OutageState = 'started' | 'ongoing' | 'ended'

export interface OutagesOptions {
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number
  /** Called at the start of an outage, and by {@link Outages.sweep} while it is ongoing and when it has ended. */
  readonly onOutage?: ((state: OutageState, outage: Outage) => void) | undefined
}

const REPORT_INTERVAL_MS = 60_000

/** Combines the failures of all watches of a registry into one outage. */
export class Outages {
  readonly #options: OutagesOptions
  /** Time of failure by failing watch. */
  readonly #failing = new Map<string, number>()
  #reason = new Error('the registry is unavailable')
  #sinceMs = 0
  #endedMs = 0
  #reportedMs: number | undefined

  constructor(options: OutagesOptions) {
    this.#options = options
  }

  /** The current outage; undefined while the registry is available. */
  get current(): Outage | undefined {
    return this.#failing.size === 0 ? undefined : this.#describe(this.#options.nowMs())
  }

  /**
   * Records that a watch has failed, or has recovered if `reason` is undefined.
   *
   * @param durationMs milliseconds since the failure, if it was only detected after a timeout.
   */
  report(watch: string, reason: Error | undefined, durationMs = 0): void {
    const now = this.#options.nowMs()
    if (reason === undefined) {
      if (this.#failing.delete(watch)) this.#endedMs = now
      return
    }
    this.#reason = reason
    if (this.#failing.has(watch)) return
    this.#failing.set(watch, now - durationMs)
    // A failure before the end was reported continues the outage.
    if (this.#reportedMs !== undefined) return
    this.#sinceMs = now - durationMs
    this.#report('started', now)
  }

  /** True while a watch is failing, so that nodes missing from its state may still exist. */
  isUnavailable(watch: string): boolean {
    return this.#failing.has(watch)
  }

  /** Milliseconds since a watch failed; 0 if it is not failing. */
  downForMs(watch: string): number {
    const sinceMs = this.#failing.get(watch)
    return sinceMs === undefined ? 0 : this.#options.nowMs() - sinceMs
  }

  /** Reports an outage that continues or has ended. Must be called periodically. */
  sweep(): void {
    if (this.#reportedMs === undefined) return
    const now = this.#options.nowMs()
    if (this.#failing.size === 0) {
      this.#report('ended', this.#endedMs)
      this.#reportedMs = undefined
    } else if (now - this.#reportedMs >= REPORT_INTERVAL_MS) this.#report('ongoing', now)
  }

  #report(state: OutageState, untilMs: number): void {
    this.#reportedMs = untilMs
    this.#options.onOutage?.(state, this.#describe(untilMs))
  }

  #describe(untilMs: number): Outage {
    return { reason: this.#reason, durationMs: untilMs - this.#sinceMs }
  }
}

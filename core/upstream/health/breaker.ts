/**
 * Conditions under which the circuit breakers of a service and its nodes open. Option names follow Resilience4j and
 * Envoy.
 */
export interface BreakerOptions {
  /** Percentage of failed requests that opens the breaker. @default 50 */
  readonly errorPercent: number
  /** Minimum number of requests in a window to evaluate the percentage. @default 20 */
  readonly minRequests: number
  /** Window over which requests are counted, in milliseconds. @default 10000 */
  readonly windowMs: number
  /** Time that the breaker stays open, in milliseconds. @default 5000 */
  readonly openMs: number
  /** Number of trial requests after `openMs`; their results close or reopen the breaker. @default 10 */
  readonly halfOpen: number
}

export const DEFAULT_BREAKER: BreakerOptions = {
  errorPercent: 50,
  minRequests: 20,
  windowMs: 10_000,
  openMs: 5000,
  halfOpen: 10,
}

/** Number of parts of a window; counts expire one part at a time. */
const SLOTS = 10

/**
 * A circuit breaker: after too many failures, it admits no requests for a while, then a few trial requests.
 *
 * Uses no timers: `admits` and `record` compare the clock.
 */
export class Breaker {
  /** End of the open state, or deadline for the responses to trial requests; 0 if closed. */
  untilMs = 0
  readonly #options: BreakerOptions
  readonly #requests = new Uint32Array(SLOTS)
  readonly #failures = new Uint32Array(SLOTS)
  /** Number of the current slot since the start of the clock. */
  #slot = 0
  /** Number of trial requests sent; -1 if not half-open. */
  #trials = -1
  #results = 0
  #failedTrials = 0

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  /** Whether a request may be sent. Counts trial requests. */
  admits(nowMs: number): boolean {
    if (this.untilMs === 0) return true
    const { halfOpen, openMs } = this.#options
    // Trial requests that take as long are replaced.
    if (nowMs >= this.untilMs) {
      this.#trials = 0
      this.#results = 0
      this.#failedTrials = 0
      this.untilMs = nowMs + openMs
    }
    if (this.#trials < 0 || this.#trials >= halfOpen) return false
    this.#trials++
    return true
  }

  /** Whether the failures in the window reach the percentage that opens the breaker, regardless of `minRequests`. */
  isFailing(nowMs: number): boolean {
    if (this.untilMs !== 0) return true
    this.#rotate(nowMs)
    const failures = sum(this.#failures)
    return failures > 0 && failures * 100 >= this.#options.errorPercent * sum(this.#requests)
  }

  /** Permits another trial request to replace a request that ended without a result. */
  withdraw(): void {
    if (this.untilMs !== 0 && this.#trials > this.#results) this.#trials--
  }

  /**
   * Records the result of a request.
   *
   * @param mayOpen decides whether the breaker opens once the percentage is reached.
   * @returns true if it opened or closed.
   */
  record(isFailure: boolean, nowMs: number, mayOpen: () => boolean = () => true): boolean {
    const { errorPercent, minRequests, halfOpen } = this.#options
    if (this.untilMs !== 0) {
      // Results of requests sent before the breaker opened do not count.
      if (this.#results >= this.#trials) return false
      this.#results++
      if (isFailure) this.#failedTrials++
      if (this.#results < halfOpen) return false
      if (this.#failedTrials * 100 >= errorPercent * halfOpen) return this.#open(nowMs)
      this.untilMs = 0
      return true
    }
    this.#rotate(nowMs)
    const at = this.#slot % SLOTS
    this.#requests[at]!++
    if (!isFailure) return false
    this.#failures[at]!++
    if (sum(this.#requests) < minRequests || !this.isFailing(nowMs) || !mayOpen()) return false
    return this.#open(nowMs)
  }

  #open(nowMs: number): true {
    this.untilMs = nowMs + this.#options.openMs
    this.#trials = -1
    this.#requests.fill(0)
    this.#failures.fill(0)
    return true
  }

  #rotate(nowMs: number): void {
    const slot = Math.floor(nowMs / (this.#options.windowMs / SLOTS))
    const elapsedSlots = Math.min(SLOTS, slot - this.#slot)
    for (let i = 1; i <= elapsedSlots; i++) {
      this.#requests[(this.#slot + i) % SLOTS] = 0
      this.#failures[(this.#slot + i) % SLOTS] = 0
    }
    this.#slot = slot
  }
}

function sum(counts: Uint32Array): number {
  let total = 0
  for (const count of counts) total += count
  return total
}

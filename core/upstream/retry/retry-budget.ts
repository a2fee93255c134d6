import type { RetryOptions } from './retry-options.ts'

const WINDOW_MS = 10_000
/** Number of requests in a window below which `minConcurrency` applies: ten per second. */
const FEW_REQUESTS = 100

/** Limits the retries of a service to a percentage of its requests in the last 10 s. */
export class RetryBudget {
  /** Number of requests since {@link #startMs}, excluding retries. Incremented for each request. */
  requests = 0
  #startMs = 0
  #retries = 0
  /** Number of requests in the previous window. */
  #earlierRequests = 0
  #earlierRetries = 0
  /** Number of retries in progress, including their pauses. */
  #active = 0

  /** Counts a retry. Returns false if the budget is exhausted. */
  take({ budgetPercent, minConcurrency }: RetryOptions, nowMs: number): boolean {
    this.#move(nowMs)
    const share = 1 - (nowMs - this.#startMs) / WINDOW_MS
    const requests = this.requests + this.#earlierRequests * share
    const retries = this.#retries + this.#earlierRetries * share
    const isAllowed =
      retries + 1 <= (requests * budgetPercent) / 100 ||
      (requests < FEW_REQUESTS && this.#active < minConcurrency)
    if (!isAllowed) return false
    this.#retries++
    this.#active++
    return true
  }

  /** Ends a retry in progress. */
  release(): void {
    this.#active--
  }

  /** Starts the next window. If more than a window has passed, the requests are averaged. */
  #move(nowMs: number): void {
    const passedMs = nowMs - this.#startMs
    if (passedMs < WINDOW_MS) return
    this.#earlierRequests = this.requests * (WINDOW_MS / passedMs)
    this.#earlierRetries = passedMs < 2 * WINDOW_MS ? this.#retries : 0
    this.requests = 0
    this.#retries = 0
    this.#startMs = nowMs
  }
}

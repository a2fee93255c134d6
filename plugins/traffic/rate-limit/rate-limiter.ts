import { LRUCache } from 'lru-cache'

/** A limit of `limit` units per window, and of up to `burst` units immediately after a pause. */
export interface RateLimiterOptions {
  readonly limit: number
  readonly windowMs: number
  readonly burst: number
  /** Maximum number of keys; the least recently used key is evicted first. */
  readonly maxKeys: number
}

/** Decision about a request. */
export interface RateDecision {
  readonly isAllowed: boolean
  /** Number of units available now. */
  readonly remaining: number
  /** Milliseconds until the full burst is available again. */
  readonly resetMs: number
  /** Milliseconds until the request would be allowed; 0 if it is allowed. */
  readonly retryMs: number
}

export interface RateLimiter {
  /** Takes `cost` units of a key, or none if the request is not allowed. Times are monotonic milliseconds. */
  readonly take: (key: string, cost: number, nowMs: number) => RateDecision
}

/**
 * Creates a limiter with the generic cell rate algorithm (ITU-T I.371). For each key, it only stores the time at which
 * the full burst is available again.
 */
export function createRateLimiter({
  limit,
  windowMs,
  burst,
  maxKeys,
}: RateLimiterOptions): RateLimiter {
  const unitMs = windowMs / limit
  const burstMs = unitMs * burst
  const fullAtMs = new LRUCache<string, number>({ max: maxKeys })
  const remainingAt = (aheadMs: number): number =>
    // Rounded, because repeated additions of a fraction would lose a unit.
    Math.max(0, Math.floor((burstMs - aheadMs) / unitMs + 1e-6))
  return {
    take(key, cost, nowMs) {
      const aheadMs = Math.max(0, (fullAtMs.get(key) ?? 0) - nowMs)
      const nextMs = aheadMs + cost * unitMs
      const retryMs = nextMs - burstMs
      // A thousandth of a unit of tolerance, for the same reason.
      if (retryMs > unitMs / 1000)
        return { isAllowed: false, remaining: remainingAt(aheadMs), resetMs: aheadMs, retryMs }
      fullAtMs.set(key, nowMs + nextMs)
      return { isAllowed: true, remaining: remainingAt(nextMs), resetMs: nextMs, retryMs: 0 }
    },
  }
}

/** How long to leave a server alone that cannot be reached: longer each time. */
export interface BackOff {
  /** Milliseconds until the next attempt, after one that failed. */
  readonly next: () => number
  /** After one that succeeded. */
  readonly reset: () => void
}

const MIN_MS = 50
const MAX_MS = 5000

/** Jittered by half: all gateways lose their server at once, and are not to come back together. */
export function createBackOff(): BackOff {
  let ms = MIN_MS
  return {
    next() {
      const now = ms
      ms = Math.min(MAX_MS, ms * 2)
      return now * (1 - Math.random() / 2)
    },
    reset() {
      ms = MIN_MS
    },
  }
}

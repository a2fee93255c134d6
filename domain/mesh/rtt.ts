import { MAX_COST } from './limits.ts'

/** Round-trip time of a link, measured repeatedly. */
export interface RoundTrip {
  /** Adds a sample. @returns whether {@link RoundTrip.cost} has changed. */
  readonly add: (ms: number) => boolean
  /** Minimum of recent samples in milliseconds. */
  readonly ms: number
  /** Cost of the link: 1, plus 1 for each 5 ms. */
  readonly cost: number
}

const SAMPLES = 8
const STEP_MS = 5
/** Hysteresis beyond a step in milliseconds, and as a share of the round trip. */
const SLACK_MS = 1.5
const SLACK_SHARE = 0.15

/**
 * Measures the round-trip time of a link as the minimum of recent samples, because longer ones are
 * caused by busy processes. At the edge between two steps, the cost does not change, because each
 * change is advertised to all servers.
 */
export function createRoundTrip(): RoundTrip {
  const samples: number[] = []
  let shortest = 0
  let cost = 0
  return {
    get ms() {
      return shortest
    },

    get cost() {
      return cost
    },

    add(ms) {
      samples.push(ms)
      if (samples.length > SAMPLES) samples.shift()
      shortest = Math.min(...samples)
      const next = Math.min(MAX_COST, 1 + Math.floor(shortest / STEP_MS))
      if (next === cost) return false
      const slackMs = Math.max(SLACK_MS, shortest * SLACK_SHARE)
      const fromMs = STEP_MS * (cost - 1) - slackMs
      const toMs = STEP_MS * cost + slackMs
      if (cost > 0 && shortest >= fromMs && shortest <= toMs) return false
      cost = next
      return true
    },
  }
}

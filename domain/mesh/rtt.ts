import { MAX_COST } from './limits.ts'

/** How far a link is, measured again and again. */
export interface RoundTrip {
  /** Takes note of a round trip. @returns whether {@link RoundTrip.cost} has changed. */
  readonly add: (ms: number) => boolean
  /** The shortest of the last few, milliseconds. */
  readonly ms: number
  /** What the link adds to a route: 1, and 1 more for every 5 ms. */
  readonly cost: number
}

const SAMPLES = 8
const STEP_MS = 5
/** What a round trip must be beyond a step before the cost changes, and the share of long ones. */
const SLACK_MS = 1.5
const SLACK_SHARE = 0.15

/**
 * The shortest of some round trips is that of the line: what a busy process adds to the others says nothing of it. Where it lies on the
 * edge of two steps the cost stays: each change is told to all servers.
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

/** Limits beyond which a node differs too much from the other nodes in an interval. */
export interface WindowLimits {
  /** Percentage of failed responses, unless all nodes fail; 0 disables the check. @default 85 */
  readonly failurePercentage: number
  /** Multiple of the median p95 of all nodes; 0 disables the check. @default 4 */
  readonly latencyFactor: number
}

/** Responses of a node in an interval. */
export interface NodeWindow<N> {
  readonly node: N
  readonly window: ResponseWindow
}

export const UNKNOWN_LATENCY = -1
/** Minimum number of responses per interval for comparing a node, by failures and by the 95th percentile. */
const MIN_RESPONSES = 20
const MIN_MEASURED = 100
/** p95 in milliseconds below which a node never counts as slow. */
const MIN_LATENCY_MS = 100
/** Number of latency bounds: powers of the square root of 2 from 1 ms to 46 s. */
const BUCKETS = 32
const BUCKETS_PER_DOUBLING = 2
const P95 = 0.95

/** Counts the responses of a node in the current interval. */
export class ResponseWindow {
  interval = 0
  responses = 0
  failures = 0
  #measured = 0
  readonly #latencies = new Uint32Array(BUCKETS)

  reset(interval: number): void {
    this.interval = interval
    this.responses = 0
    this.failures = 0
    this.#measured = 0
    this.#latencies.fill(0)
  }

  /** @param latencyMs {@link UNKNOWN_LATENCY} for connection failures and streams. */
  add(isFailure: boolean, latencyMs: number): void {
    this.responses++
    if (isFailure) this.failures++
    if (latencyMs < 0) return
    this.#measured++
    const bucket = latencyMs <= 1 ? 0 : Math.ceil(Math.log2(latencyMs) * BUCKETS_PER_DOUBLING) | 0
    this.#latencies[bucket < BUCKETS ? bucket : BUCKETS - 1]!++
  }

  /** Upper bound of the 95th percentile in milliseconds; 0 if there are too few responses. */
  get p95Ms(): number {
    if (this.#measured < MIN_MEASURED) return 0
    let remaining = this.#measured * P95
    let bucket = 0
    while (bucket < BUCKETS - 1 && remaining > this.#latencies[bucket]!) {
      remaining -= this.#latencies[bucket]!
      bucket++
    }
    return 2 ** (bucket / BUCKETS_PER_DOUBLING)
  }
}

/** Returns nodes that fail much more often, or are much slower, than the other nodes. */
export function findOutliers<N>(
  all: readonly NodeWindow<N>[],
  { failurePercentage, latencyFactor }: WindowLimits,
): readonly N[] {
  const windows = all.filter(({ window }) => window.responses >= MIN_RESPONSES)
  if (windows.length < 2) return []
  const sum = (read: (window: ResponseWindow) => number): number =>
    windows.reduce((total, { window }) => total + read(window), 0)
  const responses = sum((window) => window.responses)
  const failures = sum((window) => window.failures)
  const limit = failurePercentage / 100
  const p95s = windows.map(({ window }) => window.p95Ms).filter((ms) => ms > 0)
  // The lower median, which is the faster one of two nodes. A single node is not compared.
  const medianMs =
    p95s.length < 2 ? Number.POSITIVE_INFINITY : p95s.sort((a, b) => a - b)[(p95s.length - 1) >> 1]!
  return windows
    .filter(({ window }) => {
      const others = (failures - window.failures) / (responses - window.responses)
      const isFailing = limit > 0 && window.failures >= limit * window.responses && others < limit
      const p95Ms = latencyFactor > 0 ? window.p95Ms : 0
      return isFailing || (p95Ms >= MIN_LATENCY_MS && p95Ms >= latencyFactor * medianMs)
    })
    .map(({ node }) => node)
}

/** Significant bits kept of a value: 2^9 steps per power of two, so at most 0.2 % off. */
const BITS = 9
const STEPS = 2 ** BITS
/** Values below are counted exactly. */
const EXACT = 2 * STEPS
/** About 36 minutes in microseconds: the largest 31-bit integer, so that all arithmetic stays in small integers. */
const MAX_VALUE = 2 ** 31 - 1
const BUCKETS = EXACT + (30 - BITS) * STEPS

/**
 * Counts durations in microseconds, log-linearly as HdrHistogram does: every power of two is cut
 * into equal steps, so the relative error is the same at 50 µs and at 50 s. Recording allocates nothing.
 */
export class Histogram {
  count = 0
  max = 0
  #sum = 0
  readonly #counts = new Uint32Array(BUCKETS)

  /** Mean in microseconds; 0 when nothing was recorded. */
  get mean(): number {
    return this.count === 0 ? 0 : this.#sum / this.count
  }

  /** Counts one duration; below 0 counts as 0, above 36 minutes as 36 minutes. */
  record(microseconds: number): void {
    const value =
      microseconds >= MAX_VALUE ? MAX_VALUE : microseconds <= 0 ? 0 : (microseconds + 0.5) | 0
    const bucket = toBucket(value)
    this.#counts[bucket] = this.#counts[bucket]! + 1
    this.count++
    this.#sum += value
    if (value > this.max) this.max = value
  }

  /** The duration that `percent` % of the recorded ones do not exceed, in microseconds; 0 when nothing was recorded. */
  percentile(percent: number): number {
    // The small bias keeps 99.9 % of 1 000 at 999 although 99.9 / 100 * 1000 is a hair more in binary.
    const wanted = Math.max(1, Math.ceil((percent / 100) * this.count - 1e-6))
    let seen = 0
    for (let bucket = 0; bucket < BUCKETS && this.count > 0; bucket++) {
      seen += this.#counts[bucket]!
      if (seen >= wanted) return Math.min(toUpperBound(bucket), this.max)
    }
    return this.max
  }

  /** Forgets everything recorded. */
  reset(): void {
    this.#counts.fill(0)
    this.count = 0
    this.max = 0
    this.#sum = 0
  }
}

function toBucket(value: number): number {
  if (value < EXACT) return value
  const exponent = 31 - Math.clz32(value)
  const shift = exponent - BITS
  return EXACT + (shift - 1) * STEPS + (value >>> shift) - STEPS
}

/** The largest value counted in `bucket`. */
function toUpperBound(bucket: number): number {
  if (bucket < EXACT) return bucket
  const shift = ((bucket - EXACT) >>> BITS) + 1
  const step = STEPS + ((bucket - EXACT) & (STEPS - 1))
  return (step + 1) * 2 ** shift - 1
}

/**
 * Upper bounds of durations in milliseconds: the bounds of OpenTelemetry's `http.server.request.duration`, plus two
 * lower bounds for fast local responses.
 */
export const DURATION_MS: readonly number[] = [
  0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
]
/** Upper bounds of sizes in bytes. */
export const SIZE_BYTES: readonly number[] = [100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]

/**
 * A Prometheus histogram with fixed bounds and the sum of the values. Recording allocates nothing. Uses linear search,
 * because most values are in one of the first buckets.
 */
export class Buckets {
  readonly bounds: readonly number[]
  /** Non-cumulative counts by bound, then the count above all bounds, then the sum. */
  readonly #cells: Float64Array

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  /** Records a value; negative values count as 0. */
  record(value: number): void {
    const { bounds } = this
    const cells = this.#cells
    const { length } = bounds
    let at = 0
    while (at < length && value > bounds[at]!) at++
    cells[at] = cells[at]! + 1
    if (value > 0) cells[length + 1] = cells[length + 1]! + value
  }

  /** Cumulative counts by bound, followed by the total. */
  get cumulative(): number[] {
    const cells = this.#cells
    const counts: number[] = []
    let count = 0
    for (let at = 0; at <= this.bounds.length; at++) {
      count += cells[at]!
      counts.push(count)
    }
    return counts
  }

  get count(): number {
    const cells = this.#cells
    let count = 0
    for (let at = 0; at <= this.bounds.length; at++) count += cells[at]!
    return count
  }

  get sum(): number {
    return this.#cells.at(-1)!
  }
}

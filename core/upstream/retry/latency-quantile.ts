const SAMPLES = 256
/** Number of samples before the first calculation of the quantile, and between calculations. */
const FIRST = 32
const STEP = 32

/** The 95th percentile of recent latencies in milliseconds. */
export class LatencyQuantile {
  /** Undefined if there are too few samples. */
  p95Ms: number | undefined = undefined
  readonly #samples = new Float64Array(SAMPLES)
  #count = 0

  add(latencyMs: number): void {
    this.#samples[this.#count++ % SAMPLES] = latencyMs
    if (this.#count < FIRST || this.#count % STEP !== 0) return
    const known = this.#samples.slice(0, this.#count).sort()
    this.p95Ms = known[Math.ceil(known.length * 0.95) - 1]
  }
}

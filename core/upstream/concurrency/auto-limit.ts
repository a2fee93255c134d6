const INITIAL = 20
/** Limit while the minimum is measured, and lower bound of the limit. */
const PROBE_LIMIT = 3
const MAX = 1000
const PROBE_SAMPLES = 30
const PROBE_SAMPLES_MIN = 5
const PROBE_MS = 2000
/**
 * Interval between measurements of the minimum, randomly increased by up to half, so that gateways do not measure
 * simultaneously.
 */
const PROBE_EVERY_MS = 60_000
/** Interval between measurements while the minimum is unknown. */
const RETRY_MS = 1000
const WINDOW_MS = 100
const WINDOW_SAMPLES = 10
/** Durations within this factor and this number of milliseconds of the minimum are normal. */
const TOLERANCE = 1.2
const TOLERANCE_MS = 1

interface Probe {
  /** Limit before the measurement. */
  readonly limit: number
  readonly endMs: number
  /**
   * Earliest start of counted requests, since earlier ones ran concurrently with more than {@link PROBE_LIMIT} others;
   * 0 while such requests are in progress.
   */
  fromMs: number
}

/**
 * Limit that follows the gradient of durations, like Envoy's adaptive concurrency. It decreases while requests take
 * longer than the minimum, and otherwise grows by its square root. The minimum is measured periodically with few
 * concurrent requests.
 */
export class AutoLimit {
  /** Current limit. */
  limit: number = INITIAL
  readonly #random: () => number
  /** Mean duration at low load in milliseconds; 0 if unknown. */
  #minMs = 0
  #sumMs = 0
  #count = 0
  #windowEndMs = 0
  #probe: Probe | undefined = undefined
  #nextProbeMs = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Mean duration at low load in milliseconds; 0 if unknown. */
  get minMs(): number {
    return this.#minMs
  }

  /** Records a finished request. @param active number of requests still in progress. */
  add(startMs: number, nowMs: number, active: number): void {
    if (this.#probe !== undefined) return this.#addToProbe(this.#probe, startMs, nowMs, active)
    if (nowMs >= this.#nextProbeMs) {
      const fromMs = active <= PROBE_LIMIT ? nowMs : 0
      this.#probe = { limit: this.limit, endMs: nowMs + PROBE_MS, fromMs }
      this.limit = PROBE_LIMIT
      return this.#reset(nowMs)
    }
    this.#sumMs += Math.max(0, nowMs - startMs)
    this.#count++
    if (nowMs < this.#windowEndMs || this.#count < WINDOW_SAMPLES || this.#minMs === 0) return
    this.#adjust(this.#sumMs / this.#count, active)
    this.#reset(nowMs)
  }

  #addToProbe(probe: Probe, startMs: number, nowMs: number, active: number): void {
    if (probe.fromMs > 0 && startMs >= probe.fromMs) {
      this.#sumMs += Math.max(0, nowMs - startMs)
      this.#count++
    } else if (probe.fromMs === 0 && active < PROBE_LIMIT) probe.fromMs = nowMs
    if (this.#count < PROBE_SAMPLES && nowMs < probe.endMs) return
    if (this.#count >= PROBE_SAMPLES_MIN) this.#minMs = this.#sumMs / this.#count
    this.#probe = undefined
    this.limit = probe.limit
    const everyMs = this.#minMs === 0 ? RETRY_MS : PROBE_EVERY_MS
    this.#nextProbeMs = nowMs + everyMs * (1 + this.#random() / 2)
    this.#reset(nowMs)
  }

  #adjust(meanMs: number, active: number): void {
    const gradient = (this.#minMs * TOLERANCE + TOLERANCE_MS) / Math.max(meanMs, 0.001)
    const bound = Math.min(1, Math.max(0.5, gradient))
    const next = this.limit * bound + Math.sqrt(this.limit)
    // Durations are not meaningful for a limit that is not reached.
    if (next > this.limit && active < this.limit / 2) return
    this.limit = Math.min(MAX, Math.max(PROBE_LIMIT, (this.limit + next) / 2))
  }

  #reset(nowMs: number): void {
    this.#sumMs = 0
    this.#count = 0
    this.#windowEndMs = nowMs + WINDOW_MS
  }
}

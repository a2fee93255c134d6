import type { Exchange } from '../exchange.ts'
import { Histogram } from './histogram.ts'

/** Durations are at most 3 % off. */
const BITS = 5
/** First digits a status may have, and 0 for what got no reply. */
const CLASSES = 10
const BYTES_IN = 0
const BYTES_OUT = 1

/**
 * What a gateway counts of its requests once they are over, since it was started: everything only rises, and whoever wants to
 * know what happened lately looks twice (`request-history.ts`).
 *
 * Every request is counted, of durations one of `measureEvery` is measured: reading the clock costs several times what counting
 * does (bench/micro/request-metrics.ts). Counting allocates nothing: numbers that pass 2^31 are kept in typed arrays, where they cost
 * no object either.
 */
export class RequestMetrics {
  /** Requests by the first digit of their status; at 0 those that got no reply, since their client left. */
  readonly byClass: Float64Array = new Float64Array(CLASSES)
  /** Requests whose reply was not complete, for the client left or the backend failed; those without any among them. */
  aborted = 0
  /**
   * Until the last byte of a reply, or until the head of one that comes in pieces: how long that goes on is up to whoever sends and
   * reads it. WebSockets have none.
   */
  readonly durations: Histogram = new Histogram(BITS)
  /** One of how many durations is measured, and counted as often, from the next one on. */
  measureEvery = 1
  readonly #bytes = new Float64Array(2)
  #unmeasured = 1
  /** What the next one that is measured stands for. */
  #weight = 1

  /** Requests that are over. */
  get requests(): number {
    return this.byClass.reduce((sum, count) => sum + count, 0)
  }

  /** Of request bodies. */
  get bytesIn(): number {
    return this.#bytes[BYTES_IN]!
  }

  /** Of the bodies of replies. */
  get bytesOut(): number {
    return this.#bytes[BYTES_OUT]!
  }

  /** Counts a request that is over. */
  count(x: Exchange): void {
    const first = (x.status / 100) | 0
    this.byClass[first] = this.byClass[first]! + 1
    if (x.aborted) this.aborted++
    this.#bytes[BYTES_IN] = this.#bytes[BYTES_IN]! + x.bytesIn
    this.#bytes[BYTES_OUT] = this.#bytes[BYTES_OUT]! + x.bytesOut
    if (--this.#unmeasured > 0) return
    this.#measure(x)
    this.#weight = this.measureEvery
    this.#unmeasured = this.measureEvery
  }

  #measure(x: Exchange): void {
    if (!x.streaming) {
      if (x.status > 0) this.durations.record(x.elapsedMs * 1000, this.#weight)
    } else if (x.status !== 101 && x.upstreamReplyMs > 0)
      this.durations.record((x.upstreamReplyMs - x.startMs) * 1000, this.#weight)
  }
}

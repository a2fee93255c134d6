import { performance } from 'node:perf_hooks'
import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Exchange } from '../exchange.ts'
import { Histogram } from './histogram.ts'
import type { RecentRequests } from './recent-requests.ts'
import { CLASSES, toClass } from './route-counters.ts'
import { RouteLabels } from './route-table.ts'
import { ServiceTable } from './service-counters.ts'

/** Precision of durations, for an error of at most 3 %. */
const BITS = 5
/** Requests per second above which durations are sampled. */
const BUSY = 1000
const MEASURED = 16
const BYTES_IN = 0
const BYTES_OUT = 1

/**
 * Counters of finished gateway requests since startup. They only increase; rates are differences
 * (`request-history.ts`).
 *
 * Every request is counted. Only one in `measureEvery` durations is measured, because reading the clock costs more than
 * all counting (bench/micro/http/request-metrics.ts). Route counters include every duration: unmeasured durations use
 * the time of the tick, whose responses are sent at its end. Counting allocates nothing: numbers above 2^31 are in
 * typed arrays, where they need no heap object.
 */
export class RequestMetrics {
  /**
   * Requests by the first digit of their status ({@link toClass}). Index 0 counts requests whose client disconnected
   * before a response.
   */
  readonly byClass: Float64Array = new Float64Array(CLASSES)
  /** Requests without a complete response because the client disconnected or the backend failed. */
  aborted = 0
  /**
   * Time to the last byte of a response. For a streamed response, whose length depends on sender and reader, the time
   * to its head. WebSockets are not measured.
   */
  readonly durations: Histogram = new Histogram(BITS)
  /** Sampling interval: one in `measureEvery` durations is measured, with that weight. */
  measureEvery = 1
  /** Counters by route. */
  readonly routes: RouteLabels = new RouteLabels()
  /** Counters of upstream attempts by service. */
  readonly services: ServiceTable = new ServiceTable()
  /** The last failed or slow requests; undefined if not recorded. */
  readonly recent: RecentRequests | undefined
  readonly #bytes = new Float64Array(2)
  #unmeasured = 1
  /** State at the last {@link adapt} call. */
  #before = { requests: 0, nowMs: 0 }
  /** Weight of the next measured duration. */
  #weight = 1

  constructor(recent?: RecentRequests) {
    this.recent = recent
  }

  /** Number of finished requests. */
  get requests(): number {
    return this.byClass.reduce((sum, count) => sum + count, 0)
  }

  get bytesIn(): number {
    return this.#bytes[BYTES_IN]!
  }

  get bytesOut(): number {
    return this.#bytes[BYTES_OUT]!
  }

  /** Adapts `measureEvery` to the request rate. Must be called periodically. */
  adapt(nowMs: number): void {
    const { requests } = this
    const seconds = (nowMs - this.#before.nowMs) / 1000
    if (seconds <= 0) return
    this.measureEvery = (requests - this.#before.requests) / seconds < BUSY ? 1 : MEASURED
    this.#before = { requests, nowMs }
  }

  /** Counts a finished request. */
  count(x: Exchange): void {
    const first = toClass(x)
    this.byClass[first] = this.byClass[first]! + 1
    if (x.aborted) this.aborted++
    this.#bytes[BYTES_IN] = this.#bytes[BYTES_IN]! + x.bytesIn
    this.#bytes[BYTES_OUT] = this.#bytes[BYTES_OUT]! + x.bytesOut
    const exact = --this.#unmeasured <= 0
    const isOpenEnded = x.streaming || x.status === 101
    const endMs = isOpenEnded ? toHeadMs(x) : exact ? performance.now() : tickNow()
    const durationMs = endMs - x.startMs
    this.routes.of(x).count(x, durationMs, exact)
    this.recent?.add(x, first, durationMs)
    if (!exact) return
    // A stream without a backend has no upstream head to measure.
    if (x.status > 0 && x.status !== 101 && (x.upstreamReplyMs > 0 || !x.streaming))
      this.durations.record(durationMs * 1000, this.#weight)
    this.#weight = this.measureEvery
    this.#unmeasured = this.measureEvery
  }
}

/** Time of the head of a streamed response: when the node sent it, or else when the request was sent upstream. */
function toHeadMs({ startMs, upstreamStartMs, upstreamReplyMs }: Exchange): number {
  return upstreamReplyMs || upstreamStartMs || startMs
}

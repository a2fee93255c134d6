import { performance } from 'node:perf_hooks'
import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Exchange } from '../exchange.ts'
import { Histogram } from './histogram.ts'
import type { RecentRequests } from './recent-requests.ts'
import { CLASSES, toClass } from './route-counters.ts'
import { RouteTable } from './route-table.ts'
import { ServiceTable } from './service-counters.ts'

/** Durations are at most 3 % off. */
const BITS = 5
/** Requests a second from which on not every duration is measured. */
const BUSY = 1000
const MEASURED = 16
const BYTES_IN = 0
const BYTES_OUT = 1

/**
 * What a gateway counts of its requests once they are over, since it was started: everything only rises, and whoever wants to
 * know what happened lately looks twice (`request-history.ts`).
 *
 * Every request is counted, of durations one of `measureEvery` is measured: reading the clock costs more than all of the counting
 * (bench/micro/http/request-metrics.ts); by route each is counted, where it is not measured as of its turn of the event loop, in which
 * nothing leaves before the end. Counting allocates nothing: numbers that pass 2^31 are kept in typed arrays, where they cost
 * no object either.
 */
export class RequestMetrics {
  /** Requests by the first digit of their status ({@link toClass}); at 0 those that got no reply, since their client left. */
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
  /** The same by route. */
  readonly routes: RouteTable = new RouteTable()
  /** What their nodes did, by service. */
  readonly services: ServiceTable = new ServiceTable()
  /** The last ones that failed or were slow; undefined: nobody reads them. */
  readonly recent: RecentRequests | undefined
  readonly #bytes = new Float64Array(2)
  #unmeasured = 1
  /** As of the last {@link adapt}. */
  #before = { requests: 0, nowMs: 0 }
  /** What the next one that is measured stands for. */
  #weight = 1

  constructor(recent?: RecentRequests) {
    this.recent = recent
  }

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

  /** Measures each duration, or one of sixteen where there are many requests. To be called now and then. */
  adapt(nowMs: number): void {
    const { requests } = this
    const seconds = (nowMs - this.#before.nowMs) / 1000
    if (seconds <= 0) return
    this.measureEvery = (requests - this.#before.requests) / seconds < BUSY ? 1 : MEASURED
    this.#before = { requests, nowMs }
  }

  /** Counts a request that is over. */
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
    this.recent?.see(x, first, durationMs)
    if (!exact) return
    // A stream without a backend has no head that somebody waited for.
    if (x.status > 0 && x.status !== 101 && (x.upstreamReplyMs > 0 || !x.streaming))
      this.durations.record(durationMs * 1000, this.#weight)
    this.#weight = this.measureEvery
    this.#unmeasured = this.measureEvery
  }
}

/** Until when somebody waited for what then comes in pieces; where nothing came from a node, until it was sent there. */
function toHeadMs({ startMs, upstreamStartMs, upstreamReplyMs }: Exchange): number {
  return upstreamReplyMs || upstreamStartMs || startMs
}

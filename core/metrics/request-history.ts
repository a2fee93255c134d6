import { performance } from 'node:perf_hooks'
import type { RequestMetrics } from './request-metrics.ts'

export interface RequestHistoryOptions {
  readonly metrics: RequestMetrics
  readonly inFlight: () => number
  /** @default 300 */
  readonly maxPoints?: number
  /** Monotonic clock. @default performance.now */
  readonly nowMs?: () => number
  readonly onPoint?: (point: RequestPoint) => void
}

/** Requests that ended within a second. */
export interface RequestPoint {
  /** End of the interval, milliseconds since 1970. */
  readonly timeMs: number
  /** Length of the interval in seconds: 1, or more if the process was busy. */
  readonly seconds: number
  /** Requests by the first digit of their status. Index 0 counts requests without a response. */
  readonly byClass: readonly number[]
  readonly aborted: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** Requests in flight at the end of the interval. */
  readonly inFlight: number
  /** Over the last {@link WINDOW} points; undefined without durations. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

/** Request statistics of the last minutes, per second. */
export interface RequestHistory {
  /** Returns the points, oldest first. */
  readonly points: () => readonly RequestPoint[]
  /** Adds a point. Called by a timer every second. */
  readonly sample: () => void
  readonly close: () => void
}

/** Number of points covered by percentiles, since a single second may have too few requests. */
export const WINDOW = 10
const SECOND_MS = 1000

export function createRequestHistory(options: RequestHistoryOptions): RequestHistory {
  const { metrics, inFlight, maxPoints = 300, onPoint } = options
  const nowMs = options.nowMs ?? (() => performance.now())
  const points: RequestPoint[] = []
  let before = readTotals(metrics)
  let sampledMs = nowMs()
  /** Copies of the durations at the last samples, oldest first. */
  const earlier = Array.from({ length: WINDOW }, () => metrics.durations.copy())
  const timer = setInterval(sample, SECOND_MS).unref()

  function sample(): void {
    const now = nowMs()
    const seconds = (now - sampledMs) / SECOND_MS
    // Two samples were taken at the same time.
    if (seconds <= 0) return
    sampledMs = now
    const totals = readTotals(metrics)
    const byClass = totals.byClass.map((count, i) => count - before.byClass[i]!)
    const { durations } = metrics
    const oldest = earlier.shift()!
    const hasDurations = durations.count > oldest.count
    const toMs = (percent: number) => durations.percentile(percent, oldest) / 1000
    const point: RequestPoint = {
      timeMs: Date.now(),
      seconds,
      byClass,
      aborted: totals.aborted - before.aborted,
      bytesIn: totals.bytesIn - before.bytesIn,
      bytesOut: totals.bytesOut - before.bytesOut,
      inFlight: inFlight(),
      p50Ms: hasDurations ? toMs(50) : undefined,
      p99Ms: hasDurations ? toMs(99) : undefined,
    }
    earlier.push(durations.copy(oldest))
    before = totals
    if (points.push(point) > maxPoints) points.shift()
    onPoint?.(point)
  }

  return { points: () => points, sample, close: () => clearInterval(timer) }
}

function readTotals({ byClass, aborted, bytesIn, bytesOut }: RequestMetrics) {
  return { byClass: [...byClass], aborted, bytesIn, bytesOut }
}

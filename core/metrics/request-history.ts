import { performance } from 'node:perf_hooks'
import type { RequestMetrics } from './request-metrics.ts'

export interface RequestHistoryOptions {
  readonly metrics: RequestMetrics
  /** Requests that are not over. */
  readonly inFlight: () => number
  /** Most points that are kept. @default 300 */
  readonly maxPoints?: number
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
  /** Told of every point. */
  readonly onPoint?: (point: RequestPoint) => void
}

/** What became of requests in a second. */
export interface RequestPoint {
  /** Its end, milliseconds since 1970. */
  readonly timeMs: number
  /** How long it was: 1, or more where the process was busy with something else. */
  readonly seconds: number
  /** That are over, by the first digit of their status; at 0 those without a reply. */
  readonly byClass: readonly number[]
  readonly aborted: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** At its end. */
  readonly inFlight: number
  /** Of the requests of the last {@link WINDOW} points; undefined: there were none that have a duration. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

/** The last minutes of a gateway's requests, second by second. */
export interface RequestHistory {
  /** The oldest first. */
  readonly points: () => readonly RequestPoint[]
  /** Adds a point. Runs by itself, once a second. */
  readonly look: () => void
  readonly close: () => void
}

/** Points that durations are told of: of one second there may be too few. */
export const WINDOW = 10
const SECOND_MS = 1000

export function createRequestHistory(options: RequestHistoryOptions): RequestHistory {
  const { metrics, inFlight, maxPoints = 300, onPoint } = options
  const nowMs = options.nowMs ?? (() => performance.now())
  const points: RequestPoint[] = []
  let before = readTotals(metrics)
  let lookedMs = nowMs()
  /** The durations of the last looks, the oldest first. */
  const earlier = Array.from({ length: WINDOW }, () => metrics.durations.copy())
  const timer = setInterval(look, SECOND_MS).unref()

  function look(): void {
    const now = nowMs()
    const seconds = (now - lookedMs) / SECOND_MS
    // Two looks at one moment.
    if (seconds <= 0) return
    lookedMs = now
    const totals = readTotals(metrics)
    const byClass = totals.byClass.map((count, i) => count - before.byClass[i]!)
    const { durations } = metrics
    const oldest = earlier.shift()!
    const has = durations.count > oldest.count
    const toMs = (percent: number) => durations.percentile(percent, oldest) / 1000
    const point: RequestPoint = {
      timeMs: Date.now(),
      seconds,
      byClass,
      aborted: totals.aborted - before.aborted,
      bytesIn: totals.bytesIn - before.bytesIn,
      bytesOut: totals.bytesOut - before.bytesOut,
      inFlight: inFlight(),
      p50Ms: has ? toMs(50) : undefined,
      p99Ms: has ? toMs(99) : undefined,
    }
    earlier.push(durations.copy(oldest))
    before = totals
    if (points.push(point) > maxPoints) points.shift()
    onPoint?.(point)
  }

  return { points: () => points, look, close: () => clearInterval(timer) }
}

function readTotals({ byClass, aborted, bytesIn, bytesOut }: RequestMetrics) {
  return { byClass: [...byClass], aborted, bytesIn, bytesOut }
}

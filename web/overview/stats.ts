/** Gateway metrics of an interval (`Api.Stats`). */
export interface Point {
  /** End of the interval, Unix time in milliseconds. */
  readonly time: number
  /** Length of the interval in seconds. */
  readonly seconds: number
  readonly requests: number
  readonly no_reply: number
  readonly status_4xx: number
  readonly status_5xx: number
  readonly in_flight: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** Latency over the last ten points; undefined if there were no requests. */
  readonly p50_ms?: number
  readonly p99_ms?: number
}

/** Gateway metrics over the last ten points. */
export interface Summary {
  /** Requests per second. */
  readonly rate: number
  /** Share of 5xx responses, from 0 to 1; undefined if there were no requests. */
  readonly errors: number | undefined
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly inFlight: number
  /** Response bytes per second. */
  readonly bytesOut: number
}

/** Number of retained points, equal to five minutes. */
const MAX_POINTS = 300
/** Number of points in a summary. */
const RECENT = 10

/** Appends new points and drops the oldest. */
export function addPoints(points: readonly Point[], more: readonly Point[]): readonly Point[] {
  const last = points.at(-1)?.time ?? Number.NEGATIVE_INFINITY
  return [...points, ...more.filter(({ time }) => time > last)].slice(-MAX_POINTS)
}

export function summarize(points: readonly Point[]): Summary | undefined {
  const recent = points.slice(-RECENT)
  const last = recent.at(-1)
  if (last === undefined) return undefined
  const sum = (of: (point: Point) => number): number =>
    recent.reduce((total, point) => total + of(point), 0)
  const seconds = sum((point) => point.seconds)
  const requests = sum((point) => point.requests)
  return {
    rate: requests / seconds,
    errors: requests === 0 ? undefined : sum((point) => point.status_5xx) / requests,
    p50Ms: last.p50_ms,
    p99Ms: last.p99_ms,
    inFlight: last.in_flight,
    bytesOut: sum((point) => point.bytes_out) / seconds,
  }
}

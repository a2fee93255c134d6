/** A second of the gateway (`Api.Stats`). */
export interface Point {
  /** Its end, Unix time in milliseconds. */
  readonly time: number
  /** How long it was. */
  readonly seconds: number
  readonly requests: number
  readonly no_reply: number
  readonly status_4xx: number
  readonly status_5xx: number
  readonly in_flight: number
  readonly bytes_in: number
  readonly bytes_out: number
  /** Of the last ten points; undefined: there was nothing to measure. */
  readonly p50_ms?: number
  readonly p99_ms?: number
}

/** How the gateway does, over the last seconds. */
export interface Summary {
  /** Requests a second. */
  readonly rate: number
  /** Part of the requests that failed with 5xx, from 0 to 1; undefined: there were none. */
  readonly errors: number | undefined
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly inFlight: number
  /** Bytes of replies a second. */
  readonly bytesOut: number
}

/** Points that are kept: five minutes. */
const KEPT = 300
/** Points that a summary is of. */
const RECENT = 10

/** The points with those that came behind them; the oldest go. */
export function addPoints(points: readonly Point[], more: readonly Point[]): readonly Point[] {
  const last = points.at(-1)?.time ?? Number.NEGATIVE_INFINITY
  return [...points, ...more.filter(({ time }) => time > last)].slice(-KEPT)
}

/** Undefined: there are no points yet. */
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

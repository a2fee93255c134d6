import { performance } from 'node:perf_hooks'
import { DURATION_MS } from './buckets.ts'
import type { RequestMetrics } from './request-metrics.ts'
import { CLASSES, OTHER_ROUTES } from './route-counters.ts'

export interface ServiceRatesOptions {
  readonly metrics: RequestMetrics
  /** Monotonic clock. @default performance.now */
  readonly nowMs?: () => number
}

/** Requests of a service over the last {@link ServiceRate.seconds}. */
export interface ServiceRate {
  /** Full name; `<domain>/<name>` in domains other than the default. */
  readonly service: string
  /** Length of the window in seconds. */
  readonly seconds: number
  readonly requests: number
  /** 5xx responses. */
  readonly errors: number
  /** Interpolated between the bounds of {@link DURATION_MS}; undefined without requests in the window. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
}

/** Request rates by service over a sliding window of about a minute. */
export interface ServiceRates {
  /** Returns the services with requests since startup, by name. */
  readonly read: () => ServiceRate[]
  /** Takes a snapshot of the counters. Called by a timer every 5 s. */
  readonly sample: () => void
  readonly close: () => void
}

const SNAPSHOT_MS = 5000
/** Number of snapshots per minute. */
const SNAPSHOTS = 12
const SERVER_ERROR = 5
/** Requests by bucket of {@link DURATION_MS}, then requests above all bounds, then errors. */
const CELLS = DURATION_MS.length + 2

type Totals = ReadonlyMap<string, Float64Array>

interface Snapshot {
  readonly sampledMs: number
  readonly totals: Totals
}

export function createServiceRates({ metrics, nowMs }: ServiceRatesOptions): ServiceRates {
  const now = nowMs ?? (() => performance.now())
  const take = (): Snapshot => ({ sampledMs: now(), totals: sumByService(metrics) })
  const snapshots: Snapshot[] = [take()]
  const timer = setInterval(sample, SNAPSHOT_MS).unref()

  function sample(): void {
    if (snapshots.push(take()) > SNAPSHOTS) snapshots.shift()
  }

  return {
    read() {
      const oldest = snapshots[0]!
      const { sampledMs, totals } = take()
      const seconds = (sampledMs - oldest.sampledMs) / 1000
      return [...totals]
        .map(([service, cells]) => toRate(service, seconds, cells, oldest.totals.get(service)))
        .sort((a, b) => (a.service < b.service ? -1 : 1))
    },
    sample,
    close: () => clearInterval(timer),
  }
}

function sumByService({ routes }: RequestMetrics): Totals {
  const totals = new Map<string, Float64Array>()
  for (const { service, durations } of routes.values()) {
    if (service === '' || service === OTHER_ROUTES) continue
    const cells = totals.get(service) ?? new Float64Array(CELLS)
    totals.set(service, cells)
    for (const [at, buckets] of durations.entries()) {
      if (buckets === undefined) continue
      let before = 0
      for (const [bucket, count] of buckets.cumulative.entries()) {
        cells[bucket]! += count - before
        before = count
      }
      if (at % CLASSES === SERVER_ERROR) cells[CELLS - 1]! += before
    }
  }
  return totals
}

function toRate(
  service: string,
  seconds: number,
  cells: Float64Array,
  before: Float64Array | undefined,
): ServiceRate {
  const counts = cells.map((count, at) => count - (before?.[at] ?? 0))
  const buckets = counts.subarray(0, CELLS - 1)
  const requests = buckets.reduce((sum, count) => sum + count, 0)
  return {
    ...{ service, seconds, requests, errors: counts[CELLS - 1]! },
    p50Ms: toQuantile(buckets, requests, 0.5),
    p99Ms: toQuantile(buckets, requests, 0.99),
  }
}

/** Like `histogram_quantile` in Prometheus: linear within a bucket; values above the last bound become that bound. */
function toQuantile(buckets: Float64Array, count: number, quantile: number): number | undefined {
  if (count === 0) return undefined
  const rank = quantile * count
  let below = 0
  for (const [at, upper] of DURATION_MS.entries()) {
    const inside = buckets[at]!
    if (inside > 0 && below + inside >= rank) {
      const lower = at === 0 ? 0 : DURATION_MS[at - 1]!
      return lower + ((upper - lower) * (rank - below)) / inside
    }
    below += inside
  }
  return DURATION_MS.at(-1)
}

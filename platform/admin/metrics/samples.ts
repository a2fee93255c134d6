import type { Buckets } from '../../../core/metrics/buckets.ts'
import { METRICS, type MetricKey, type MetricRow } from './table.ts'

export type Labels = Readonly<Record<string, string | number>>

/** A number of a metric, as `prom-client` keeps it, or a histogram. */
export interface Sample {
  readonly labels: Labels
  /** Of a histogram the sum. */
  readonly value: number
  /** Where it differs from the metric's: `..._bucket`, `..._sum`, `..._count`. */
  readonly metricName?: string
  /** Of a histogram: how many values are up to each of the metric's bounds, and at last how many there are. */
  readonly counts?: readonly number[]
}

/** A metric with its numbers; plain data, which another process may be told: one of many routes is thousands of lines. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: MetricRow['type'] | 'summary'
  readonly aggregator: string
  /** Of those samples that have counts. */
  readonly bounds?: readonly number[]
  readonly values: readonly Sample[]
}

/** Those that say something: an empty label is none. */
export function toLabels(labels: Readonly<Record<string, string>>): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}

/** Gathers the numbers of the metrics of the table. */
export interface Samples {
  readonly add: (key: MetricKey, value: number, labels?: Labels) => void
  /** @param unit of the values, in that of the metric. */
  readonly addBuckets: (key: MetricKey, buckets: Buckets, labels: Labels, unit?: number) => void
  /** Those that have numbers, in the order of the table. */
  readonly metrics: () => Metric[]
}

export function createSamples(): Samples {
  const values = new Map<MetricKey, Sample[]>()
  const bounds = new Map<MetricKey, readonly number[]>()
  const of = (key: MetricKey): Sample[] => {
    const known = values.get(key)
    if (known !== undefined) return known
    const list: Sample[] = []
    values.set(key, list)
    return list
  }
  return {
    add: (key, value, labels = {}) => void of(key).push({ labels, value }),

    addBuckets(key, buckets, labels, unit = 1) {
      if (!bounds.has(key))
        bounds.set(
          key,
          buckets.bounds.map((bound) => bound * unit),
        )
      of(key).push({ labels, value: buckets.sum * unit, counts: buckets.cumulative })
    },

    metrics: () =>
      (Object.keys(METRICS) as MetricKey[]).flatMap((key) => {
        const { name, help, type, of: aggregator } = METRICS[key]
        const list = values.get(key)
        if (list === undefined) return []
        const own = bounds.get(key)
        return [{ name, help, type, aggregator, ...(own && { bounds: own }), values: list }]
      }),
  }
}

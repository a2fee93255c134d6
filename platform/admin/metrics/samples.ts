import type { Buckets } from '../../../core/metrics/buckets.ts'
import { METRICS, type MetricKey, type MetricRow } from './table.ts'

export type Labels = Readonly<Record<string, string | number>>

/** A number of a metric, as `prom-client` keeps it. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** Where it differs from the metric's: `..._bucket`, `..._sum`, `..._count`. */
  readonly metricName?: string
}

/** A metric with its numbers, as `prom-client` keeps it; plain data, which another process may be told. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: MetricRow['type'] | 'summary'
  readonly aggregator: string
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
      const { name } = METRICS[key]
      const list = of(key)
      const { cumulative, bounds } = buckets
      for (const [i, value] of cumulative.entries()) {
        const bound = bounds[i]
        const le = bound === undefined ? '+Inf' : bound * unit
        list.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value })
      }
      list.push({ metricName: `${name}_sum`, labels, value: buckets.sum * unit })
      list.push({ metricName: `${name}_count`, labels, value: cumulative.at(-1)! })
    },

    metrics: () =>
      (Object.keys(METRICS) as MetricKey[]).flatMap((key) => {
        const { name, help, type, of: aggregator } = METRICS[key]
        const list = values.get(key)
        return list === undefined ? [] : [{ name, help, type, aggregator, values: list }]
      }),
  }
}

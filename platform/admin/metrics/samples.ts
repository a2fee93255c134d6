import type { Buckets } from '../../../core/metrics/buckets.ts'
import { METRICS, type MetricKey, type MetricRow } from './table.ts'

export type Labels = Readonly<Record<string, string | number>>

/** A metric value in the format of `prom-client`, or a histogram. */
export interface Sample {
  readonly labels: Labels
  /** Value of the metric; the sum for a histogram. */
  readonly value: number
  /** Overrides the name of the metric, for example with `..._bucket`, `..._sum` or `..._count`. */
  readonly metricName?: string
  /** Cumulative bucket counts of a histogram. The last one is the total. */
  readonly counts?: readonly number[]
}

/**
 * A metric with its values. It is plain data that is sent between processes and formatted once,
 * because it may have thousands of lines.
 */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: MetricRow['type'] | 'summary'
  readonly aggregator: string
  /** Bucket bounds of the histograms. */
  readonly bounds?: readonly number[]
  readonly values: readonly Sample[]
}

/** Removes empty labels. */
export function toLabels(labels: Readonly<Record<string, string>>): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ''))
}

/** Collects values of {@link METRICS}. */
export interface Samples {
  readonly add: (key: MetricKey, value: number, labels?: Labels) => void
  /** @param unit factor from the unit of the values to the unit of the metric. */
  readonly addBuckets: (key: MetricKey, buckets: Buckets, labels: Labels, unit?: number) => void
  /** Returns the metrics that have values, in the order of the table. */
  readonly metrics: () => Metric[]
}

export function createSamples(): Samples {
  const values = new Map<MetricKey, Sample[]>()
  const bounds = new Map<MetricKey, readonly number[]>()
  const samplesOf = (key: MetricKey): Sample[] => {
    const existing = values.get(key)
    if (existing !== undefined) return existing
    const list: Sample[] = []
    values.set(key, list)
    return list
  }
  return {
    add: (key, value, labels = {}) => void samplesOf(key).push({ labels, value }),

    addBuckets(key, buckets, labels, unit = 1) {
      if (!bounds.has(key))
        bounds.set(
          key,
          buckets.bounds.map((bound) => bound * unit),
        )
      samplesOf(key).push({ labels, value: buckets.sum * unit, counts: buckets.cumulative })
    },

    metrics: () =>
      (Object.keys(METRICS) as MetricKey[]).flatMap((key) => {
        const { name, help, type, aggregator } = METRICS[key]
        const list = values.get(key)
        if (list === undefined) return []
        const limits = bounds.get(key)
        return [{ name, help, type, aggregator, ...(limits && { bounds: limits }), values: list }]
      }),
  }
}

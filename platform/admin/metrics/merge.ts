import type { Metric, Sample } from './samples.ts'

/** Aggregations over processes. Metrics with an unknown aggregator are omitted. */
const MERGES: Readonly<Record<string, ((values: readonly number[]) => number) | undefined>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  average: (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  first: ([value]) => value!,
}

/** Merges the metrics of several processes by their `aggregator`. */
export function mergeMetrics(lists: readonly (readonly Metric[])[]): readonly Metric[] {
  if (lists.length === 1) return lists[0]!
  const byName = new Map<string, Metric[]>()
  for (const metric of lists.flat()) {
    const group = byName.get(metric.name)
    if (group === undefined) byName.set(metric.name, [metric])
    else group.push(metric)
  }
  return [...byName.values()].flatMap((metrics) => mergeOne(metrics) ?? [])
}

/**
 * Returns counters and histograms, which are retained for ended processes so that totals do not
 * decrease.
 */
export function keepCumulative(metrics: readonly Metric[]): Metric[] {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram')
}

function mergeOne(metrics: readonly Metric[]): Metric | undefined {
  const [first] = metrics as [Metric]
  const { aggregator } = first
  const mergeValues = Object.hasOwn(MERGES, aggregator) ? MERGES[aggregator] : undefined
  if (mergeValues === undefined) return undefined
  const samples = new Map<string, Sample[]>()
  for (const sample of metrics.flatMap(({ values }) => values)) {
    const key = JSON.stringify([sample.metricName, sample.labels])
    const group = samples.get(key)
    if (group === undefined) samples.set(key, [sample])
    else group.push(sample)
  }
  const values = Array.from(samples.values(), (each) => ({
    ...each[0]!,
    value: mergeValues(each.map(({ value }) => value)),
    ...(each[0]!.counts && { counts: addCounts(each) }),
  }))
  return { ...first, values }
}

function addCounts(samples: readonly Sample[]): number[] {
  const [first] = samples
  return first!.counts!.map((_, i) => samples.reduce((sum, { counts }) => sum + counts![i]!, 0))
}

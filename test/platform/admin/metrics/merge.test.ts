import t from 'tap'
import { keepCumulative, mergeMetrics } from '../../../../platform/admin/metrics/merge.ts'
import type { Metric } from '../../../../platform/admin/metrics/samples.ts'

const metric = (aggregator: string, ...values: [string, number][]): Metric => ({
  ...{ name: `m_${aggregator}`, help: 'h', type: 'gauge', aggregator },
  values: values.map(([a, value]) => ({ labels: { a }, value })),
})

t.test('merges values of several processes by aggregator', async (t) => {
  const expected: [aggregator: string, value: number | undefined][] = [
    ['sum', 6],
    ['max', 4],
    ['min', 2],
    ['average', 3],
    ['first', 2],
    ['omit', undefined],
    ['constructor', undefined],
  ]
  for (const [aggregator, value] of expected) {
    const [merged] = mergeMetrics([
      [metric(aggregator, ['x', 2], ['y', 9])],
      [metric(aggregator, ['x', 4])],
    ])
    t.strictSame(
      merged?.values,
      value === undefined
        ? undefined
        : [
            { labels: { a: 'x' }, value },
            { labels: { a: 'y' }, value: 9 },
          ],
      aggregator,
    )
  }
})

t.test('adds histograms per bucket', async (t) => {
  const histogram = (value: number, counts: number[]): Metric => ({
    ...{ name: 'h', help: 'h', type: 'histogram', aggregator: 'sum', bounds: [1] },
    values: [{ labels: { a: 'x' }, value, counts }],
  })
  const [merged] = mergeMetrics([[histogram(2, [1, 3])], [histogram(5, [2, 2])]])
  t.strictSame(merged?.values, [{ labels: { a: 'x' }, value: 7, counts: [3, 5] }])
})

t.test('returns the metrics of a single process unchanged', async (t) => {
  const localMetrics = [metric('omit', ['x', 1])]
  t.equal(mergeMetrics([localMetrics]), localMetrics)
  t.same(mergeMetrics([]), [])
})

t.test('retains counters and histograms of ended processes', async (t) => {
  const kinds = (['counter', 'gauge', 'histogram'] as const).map((type) => ({
    ...metric('sum', ['x', 1]),
    type,
  }))
  t.same(
    keepCumulative(kinds).map(({ type }) => type),
    ['counter', 'histogram'],
  )
})

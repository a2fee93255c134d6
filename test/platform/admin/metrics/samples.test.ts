import t from 'tap'
import { Buckets } from '../../../../core/metrics/buckets.ts'
import { format } from '../../../../platform/admin/metrics/format.ts'
import { createSamples, toLabels } from '../../../../platform/admin/metrics/samples.ts'

t.test('collects values by metric in the order of the table', async (t) => {
  const samples = createSamples()
  samples.add('retries', 2, { service: 'a' })
  samples.add('active', 7)
  samples.add('retries', 3, { service: 'b' })
  t.match(samples.metrics(), [
    { name: 'http_server_active_requests', type: 'gauge', values: [{ labels: {}, value: 7 }] },
    {
      ...{ name: 'mx_upstream_retries_total', type: 'counter', aggregator: 'sum' },
      values: [
        { labels: { service: 'a' }, value: 2 },
        { labels: { service: 'b' }, value: 3 },
      ],
    },
  ])
  t.equal(samples.metrics().length, 2)
})

t.test('converts histograms to the unit of the metric', async (t) => {
  const buckets = new Buckets([1, 10])
  for (const value of [0.5, 5, 50]) buckets.record(value)
  const samples = createSamples()
  samples.addBuckets('upstream', buckets, { service: 'a' }, 1 / 1000)
  t.match(samples.metrics(), [
    { bounds: [0.001, 0.01], values: [{ labels: { service: 'a' }, counts: [1, 2, 3] }] },
  ])
  const result = await format(samples.metrics(), false)
  const name = 'mx_upstream_duration_seconds'
  t.same(result.text.trim().split('\n').slice(2), [
    `${name}_bucket{service="a",le="0.001"} 1`,
    `${name}_bucket{service="a",le="0.01"} 2`,
    `${name}_bucket{service="a",le="+Inf"} 3`,
    `${name}_sum{service="a"} 0.0555`,
    `${name}_count{service="a"} 3`,
  ])
})

t.test('removes empty labels', async (t) => {
  t.strictSame(toLabels({ service: 'a', endpoint: '', http_route: '' }), { service: 'a' })
})

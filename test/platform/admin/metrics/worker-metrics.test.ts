import t from 'tap'
import type { Metric } from '../../../../platform/admin/metrics/samples.ts'
import { createWorkerMetrics } from '../../../../platform/admin/metrics/worker-metrics.ts'

const makeMetrics = (count: number): Metric[] => [
  {
    ...{ name: 'requests_total', help: 'h', type: 'counter', aggregator: 'sum' },
    values: [{ labels: {}, value: count }],
  },
  {
    ...{ name: 'active', help: 'h', type: 'gauge', aggregator: 'sum' },
    values: [{ labels: {}, value: 1 }],
  },
]

t.test('counters never decrease when workers end or do not respond', async (t) => {
  let events = new Map<number, Metric[] | undefined>()
  const read = createWorkerMetrics(async () => events)
  const scrape = async (...input: [number, Metric[] | undefined][]) => {
    events = new Map(input)
    const metrics = await read()
    return Object.fromEntries(metrics.map(({ name, values }) => [name, values[0]?.value]))
  }
  t.same(await scrape([1, makeMetrics(10)], [2, makeMetrics(5)]), { requests_total: 15, active: 2 })
  t.same(
    await scrape([1, makeMetrics(12)], [2, undefined]),
    { requests_total: 17, active: 2 },
    'a worker does not respond',
  )
  t.same(
    await scrape([1, makeMetrics(13)]),
    { requests_total: 18, active: 1 },
    'a worker has ended',
  )
  t.same(
    await scrape([1, makeMetrics(13)], [3, makeMetrics(1)]),
    { requests_total: 19, active: 2 },
    'a new worker has started',
  )
  t.same(await scrape(), { requests_total: 19 }, 'all workers have ended')
  t.same(await scrape(), { requests_total: 19 })
})

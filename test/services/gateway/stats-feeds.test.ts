import t from 'tap'
import type { RequestPoint } from '../../../core/metrics/request-history.ts'
import { createStatsFeeds } from '../../../services/gateway/stats-feeds.ts'

const toPoint = (timeMs: number): RequestPoint => ({
  ...{ timeMs, seconds: 1.00049, byClass: [1, 1, 5, 0, 2, 3, 0, 0, 0, 0], aborted: 1 },
  ...{ bytesIn: 1, bytesOut: 2, inFlight: 3, p50Ms: 1.23456, p99Ms: undefined },
})

t.test('a watcher receives the requested history, then every new point', async (t) => {
  const feeds = createStatsFeeds({ points: () => [1, 2, 3].map(toPoint), maxWatchers: 10 })
  const watch = feeds.open(2, 'x')
  feeds.publish(toPoint(4))
  const { value: first } = await watch.next()
  t.strictSame(
    first.points.map(({ time }: { time: number }) => time),
    [2, 3],
  )
  t.strictSame((await watch.next()).value.points, [
    {
      ...{ time: 4, seconds: 1, requests: 12, no_reply: 1, status_1xx: 1, status_2xx: 5 },
      ...{ status_3xx: 0, status_4xx: 2, status_5xx: 3, aborted: 1, in_flight: 3 },
      ...{ bytes_in: 1, bytes_out: 2, p50_ms: 1.235 },
    },
  ])
  t.strictSame((await feeds.open(0, 'x').next()).value, { points: [] })
  await watch.return!()
  t.equal(feeds.count(), 1)
})

t.test(
  'a watcher that lags 60 points is ended with 503, and one beyond the limit is rejected with 429',
  async (t) => {
    const feeds = createStatsFeeds({ points: () => [], maxWatchers: 1 })
    const slow = feeds.open(0, 'x')
    t.throws(() => feeds.open(0, 'x'), { code: 429, message: 'limit of 1 watchers reached' })
    for (let i = 0; i < 60; i++) feeds.publish(toPoint(i))
    await t.rejects(slow.next(), { code: 503, message: /too slow/ })
    t.equal(feeds.count(), 0)
  },
)

t.test('close ends watchers with 503 and rejects new ones', async (t) => {
  const feeds = createStatsFeeds({ points: () => [], maxWatchers: 2 })
  const watch = feeds.open(0, 'x')
  await watch.next()
  const next = watch.next()
  feeds.close()
  await t.rejects(next, { code: 503, message: 'the server is stopping' })
  t.throws(() => feeds.open(0, 'x'), { code: 503 })
})

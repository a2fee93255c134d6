import t, { type Test } from 'tap'
import {
  createRequestHistory,
  type RequestPoint,
  WINDOW,
} from '../../../core/metrics/request-history.ts'
import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function open(t: Test, maxPoints = 300) {
  const metrics = new RequestMetrics()
  const events: RequestPoint[] = []
  let now = 0
  const history = createRequestHistory({
    metrics,
    inFlight: () => 7,
    maxPoints,
    nowMs: () => now,
    onPoint: (point) => events.push(point),
  })
  t.teardown(history.close)
  const serve = (status: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      const x = createTestExchange()
      x.reply(status, 'ab')
      metrics.count(x)
    }
  }
  const pass = (ms = 1000): RequestPoint => {
    now += ms
    history.sample()
    return history.points().at(-1)!
  }
  return { metrics, history, events, serve, pass }
}

t.test('a point counts the requests that ended in its interval', async (t) => {
  const { serve, pass, events, history } = open(t)
  serve(200, 3)
  serve(502)
  t.match(pass(), {
    seconds: 1,
    byClass: [0, 0, 3, 0, 0, 1, 0, 0, 0, 0],
    aborted: 0,
    bytesIn: 0,
    bytesOut: 8,
    inFlight: 7,
    p50Ms: Number,
    p99Ms: Number,
  })
  serve(404)
  const second = pass(2500)
  t.match(second, { seconds: 2.5, byClass: [0, 0, 0, 0, 1, 0, 0, 0, 0, 0], bytesOut: 2 })
  t.equal(events.length, 2)
  t.strictSame(history.points(), events)
  history.sample()
  t.equal(events.length, 2, 'two samples at the same time are one point')
})

t.test(
  'percentiles cover the requests of the last points and are undefined without requests',
  async (t) => {
    const { metrics, pass } = open(t)
    metrics.durations.record(3000, 99)
    metrics.durations.record(64_000)
    const first = pass()
    t.ok(first.p50Ms! >= 3 && first.p50Ms! < 3.1)
    for (let i = 1; i < WINDOW; i++) t.ok(pass().p50Ms! < 3.1)
    t.match(pass(), { p50Ms: undefined, p99Ms: undefined })
  },
)

t.test('the oldest points are dropped beyond maxPoints', async (t) => {
  const { serve, pass, history } = open(t, 2)
  for (const times of [1, 2, 3]) {
    serve(200, times)
    pass()
  }
  t.strictSame(
    history.points().map(({ byClass }) => byClass[2]),
    [2, 3],
  )
})

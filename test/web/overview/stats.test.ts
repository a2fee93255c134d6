import t from 'tap'
import { addPoints, type Point, summarize } from '../../../web/overview/stats.ts'

function point(second: number, more: Partial<Point> = {}): Point {
  return {
    time: second * 1000,
    seconds: 1,
    requests: 10,
    no_reply: 0,
    status_4xx: 0,
    status_5xx: 0,
    in_flight: 2,
    bytes_in: 0,
    bytes_out: 1024,
    ...more,
  }
}

t.test('retains unique points of five minutes', async (t) => {
  const history = Array.from({ length: 300 }, (_, i) => point(i))
  const points = addPoints(history, [point(299), point(300)])
  t.equal(points.length, 300)
  t.equal(points[0]!.time, 1000)
  t.equal(points.at(-1)!.time, 300_000)
  t.equal(addPoints(points, history).at(-1)!.time, 300_000, 'repeated after a reconnect')
})

t.test('summarizes the last ten points', async (t) => {
  t.equal(summarize([]), undefined)
  const old = Array.from({ length: 20 }, (_, i) => point(i, { status_5xx: 10 }))
  const recent = Array.from({ length: 10 }, (_, i) => point(20 + i, { seconds: 2, status_5xx: 1 }))
  t.same(
    summarize([...old, ...recent, point(30, { requests: 0, seconds: 2, p50_ms: 3, p99_ms: 9 })]),
    {
      rate: 90 / 20,
      errors: 9 / 90,
      p50Ms: 3,
      p99Ms: 9,
      inFlight: 2,
      bytesOut: 512,
    },
  )
  t.equal(
    summarize([point(1, { requests: 0 })])!.errors,
    undefined,
    'no error rate without requests',
  )
})

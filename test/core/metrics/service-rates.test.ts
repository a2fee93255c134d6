import t, { type Test } from 'tap'
import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { createServiceRates } from '../../../core/metrics/service-rates.ts'
import { toRoute } from '../../../core/route.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { createTestExchange } from '../../../sdk/testing.ts'

function open(t: Test) {
  const metrics = new RequestMetrics()
  let now = 0
  const rates = createServiceRates({ metrics, nowMs: () => now })
  t.teardown(rates.close)
  const upstream = (name: string) =>
    new Upstream(name, {
      createPool: () => {
        throw new Error('nothing is sent')
      },
    })
  const serve = (service: string, status: number, times: number, durationMs = 0): void => {
    for (let i = 0; i < times; i++) {
      const x = createTestExchange()
      x.route = toRoute(service, '')
      x.upstream = upstream(service)
      x.reply(status, '')
      metrics.routes.of(x).count(x, durationMs, true)
    }
  }
  const pass = (ms: number): void => {
    now += ms
    rates.sample()
  }
  const advanceMs = (ms: number): void => {
    now += ms
  }
  return { rates, serve, pass, advanceMs }
}

t.test('reports requests, errors and latency of each service in the window', (t) => {
  const { rates, serve, advanceMs } = open(t)
  serve('shop', 200, 98, 2)
  serve('shop', 502, 2, 600)
  serve('cart', 404, 10, 0.2)
  advanceMs(10_000)
  const [cart, shop] = rates.read()
  t.match(cart, { service: 'cart', seconds: 10, requests: 10, errors: 0 })
  t.match(shop, { service: 'shop', seconds: 10, requests: 100, errors: 2 })
  t.ok(shop!.p50Ms! > 1 && shop!.p50Ms! <= 2.5, `p50 is ${shop!.p50Ms} ms`)
  t.ok(shop!.p99Ms! > 500 && shop!.p99Ms! <= 1000, `p99 is ${shop!.p99Ms} ms`)
  t.ok(cart!.p99Ms! <= 0.5)
  t.end()
})

t.test('drops requests older than a minute, and still lists the service', (t) => {
  const { rates, serve, pass } = open(t)
  serve('shop', 200, 5)
  for (let i = 0; i < 20; i++) pass(5000)
  const [shop] = rates.read()
  t.match(shop, { service: 'shop', requests: 0, errors: 0 })
  t.equal(shop!.p50Ms, undefined)
  t.equal(shop!.p99Ms, undefined)
  serve('shop', 200, 3)
  t.match(rates.read(), [{ requests: 3 }])
  t.end()
})

t.test('omits requests without a service', (t) => {
  const { rates, serve } = open(t)
  serve('', 404, 3)
  t.strictSame(
    rates.read().map(({ service }) => service),
    [],
  )
  t.end()
})

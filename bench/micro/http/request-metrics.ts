import { RequestMetrics } from '../../../core/metrics/request-metrics.ts'
import { toRoute } from '../../../core/route.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { tickNow } from '../../../lib/time/tick-clock.ts'
import { BenchExchange } from '../bench-exchange.ts'
import type { Micro } from '../micro.ts'

const upstream = new Upstream('go.mx.api.greeter', {
  createPool: () => {
    throw new Error('unexpected send')
  },
})

/** Creates a proxied exchange with a cached route. */
function createProxied(): BenchExchange {
  const x = new BenchExchange()
  x.route = toRoute('go.mx.api.greeter', '')
  x.upstream = upstream
  x.reply(200, '{"message":"Hello John"}')
  x.upstreamStartMs = tickNow()
  x.upstreamReplyMs = x.upstreamStartMs + 0.7
  return x
}

const proxied = createProxied()
const unrouted = new BenchExchange()
unrouted.reply(404, '{"message":"Hello John"}')
/** An exchange whose route is not cacheable. */
const uncached = createProxied()
/** An exchange of `/rpc`. */
const namedRoute = createProxied()
const busy = new RequestMetrics()
busy.measureEvery = 16
const idle = new RequestMetrics()

const BUSY = 'count, one duration in 16 measured'
const IDLE = 'count, each duration measured'
const UNROUTED = 'count, without a route'
const UNCACHED = 'count, a route that is not cached'
const NEW_ROUTE = 'a route with names that are new strings'
const NEW_NAMES = 'count, a route with names that are new strings'
const SERVICE = Buffer.from('go.mx.api.greeter')
const ENDPOINT = Buffer.from('Greeter.Hello')

/** Creates a route as `/rpc` reads it from a body. */
function createNewRoute() {
  return toRoute(SERVICE.toString('latin1'), ENDPOINT.toString('latin1'))
}

const micro: Micro = {
  benches: {
    [BUSY]: () => busy.count(proxied),
    [IDLE]: () => idle.count(proxied),
    [UNROUTED]: () => busy.count(unrouted),
    [UNCACHED]: () => {
      uncached.route!.counters = undefined
      busy.count(uncached)
    },
    [NEW_ROUTE]: createNewRoute,
    [NEW_NAMES]: () => {
      namedRoute.route = createNewRoute()
      busy.count(namedRoute)
    },
  },
  budgetNs: { [BUSY]: 150, [IDLE]: 300, [UNROUTED]: 150, [UNCACHED]: 200, [NEW_NAMES]: 600 },
}

export default micro

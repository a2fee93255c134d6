import { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { toRoute } from '../../core/route.ts'
import { turnMs } from '../../core/turn-clock.ts'
import { Upstream } from '../../core/upstream/upstream.ts'
import { BenchExchange } from './bench-exchange.ts'
import type { Micro } from './micro.ts'

const upstream = new Upstream('go.mx.api.greeter', {
  createPool: () => {
    throw new Error('nothing is sent')
  },
})

/** One that was proxied, and whose route is cached. */
function createProxied(): BenchExchange {
  const x = new BenchExchange()
  x.route = toRoute('go.mx.api.greeter', '')
  x.upstream = upstream
  x.reply(200, '{"message":"Hello John"}')
  x.upstreamStartMs = turnMs()
  x.upstreamReplyMs = x.upstreamStartMs + 0.7
  return x
}

const proxied = createProxied()
const unrouted = new BenchExchange()
unrouted.reply(404, '{"message":"Hello John"}')
/** As of a call to `/rpc`, or a path that no cache keeps. */
const uncached = createProxied()
const busy = new RequestMetrics()
busy.measureEvery = 16
const idle = new RequestMetrics()

const BUSY = 'count, one duration in 16 measured'
const IDLE = 'count, each duration measured'
const UNROUTED = 'count, without a route'
const UNCACHED = 'count, a route that is not cached'

const micro: Micro = {
  benches: {
    [BUSY]: () => busy.count(proxied),
    [IDLE]: () => idle.count(proxied),
    [UNROUTED]: () => busy.count(unrouted),
    [UNCACHED]: () => {
      uncached.route!.counters = undefined
      busy.count(uncached)
    },
  },
  budgetNs: { [BUSY]: 150, [IDLE]: 300, [UNROUTED]: 150, [UNCACHED]: 400 },
}

export default micro

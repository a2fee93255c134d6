import { createRouter } from '../../../core/router.ts'
import proxy from '../../../resolvers/proxy.ts'
import { BenchExchange } from '../bench-exchange.ts'
import { createDirectory, createService } from '../gateway-parts.ts'
import type { Micro } from '../micro.ts'

const SERVICES = 1000
const names = Array.from({ length: SERVICES }, (_, i) => `go.mx.api.s${i}`)
const small = createDirectory([createService('go.mx.api.s0', 1)])
const large = createDirectory(names.map((name) => createService(name, 10)))
const routeSmall = createRouter({ resolver: proxy, directory: small })
const routeLarge = createRouter({ resolver: proxy, directory: large })
const exchanges = names.map((_, i) => {
  const x = new BenchExchange([], `/s${i}/hello`)
  x.namespace = 'go.mx.api'
  return x
})
let next = 0

const micro: Micro = {
  benches: {
    'cached, 1 service': () => routeSmall(exchanges[0]!),
    'cached, 1 000 services round-robin': () => {
      next = next + 1 === SERVICES ? 0 : next + 1
      return routeLarge(exchanges[next]!)
    },
  },
  close() {
    small.close()
    large.close()
  },
}

export default micro

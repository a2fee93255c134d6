import type { Plugin } from '../../core/chain.ts'
import { Gateway } from '../../core/gateway.ts'
import { appendParsed, HeaderList } from '../../core/http/headers.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { createRouter } from '../../core/router.ts'
import proxy from '../../resolvers/proxy.ts'
import { BenchExchange } from './bench-exchange.ts'
import { createDefaultPlugins, createDirectory, createService } from './gateway-parts.ts'
import type { Micro } from './micro.ts'

const directory = createDirectory([createService('go.mx.api.greeter', 2)])
const route = createRouter({ resolver: proxy, directory })
const body = Buffer.from('{"message":"Hello John"}')
// wrk sends only `Host`, but real clients and proxies add more headers.
const fields = ['user-agent', 'curl/8.0', 'accept', '*/*']
const gateways: Gateway[] = []

/**
 * Runs a complete exchange through the gateway, which is created, routed and balanced. The response is sent immediately
 * instead of by a backend.
 */
function createRun(plugins: readonly Plugin[]): () => void {
  const gateway = new Gateway({
    chain: compileChain(plugins, route, (x) => {
      x.upstream?.pick(x, undefined)
      const headers = new HeaderList()
      appendParsed(headers, 'content-type', 'application/json')
      x.send(200, headers, body)
    }),
    onFault(error) {
      throw error
    },
  })
  gateways.push(gateway)
  return () => gateway.handle(new BenchExchange(fields, '/greeter/hello'))
}

const DEFAULT = 'default plugins'
const LOGGED = 'default plugins and access log'

const micro: Micro = {
  benches: {
    [DEFAULT]: createRun(createDefaultPlugins('off')),
    [LOGGED]: createRun(createDefaultPlugins('/dev/null')),
  },
  budgetNs: { [DEFAULT]: 2000, [LOGGED]: 3500 },
  async close() {
    for (const gateway of gateways) await gateway.close()
    directory.close()
  },
}

export default micro

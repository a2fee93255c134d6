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

/** Creates the step that continues with the plugins of a route, for an exchange routed to one of `count` services. */
function createScopeStep(count: number, service: string): () => void {
  const names = Array.from({ length: count }, (_, i) => `go.mx.api.s${i}`)
  const plugin: Plugin = { name: 'scoped', onRoute: () => {} }
  const routes = new Map(names.map((name) => [name, [plugin]]))
  const chain = compileChain([], route, () => {}, { routes })
  const enter = chain.steps[chain.stages.steps.findIndex(({ hook }) => hook === 'scope')]!
  const x = new BenchExchange()
  x.route = { service, endpoint: '' }
  return () => {
    x.chain = chain
    enter(x)
  }
}

const DEFAULT = 'default plugins'
const LOGGED = 'default plugins and access log'

const NO_PLUGINS =
  'step to the plugins of a service that has none, beside 1 000 services that have some'
const PLUGINS = 'step to the plugins of one of 1 000 services'

const micro: Micro = {
  benches: {
    [NO_PLUGINS]: createScopeStep(1000, 'go.mx.api.other'),
    [PLUGINS]: createScopeStep(1000, 'go.mx.api.s7'),
    [DEFAULT]: createRun(createDefaultPlugins('off')),
    [LOGGED]: createRun(createDefaultPlugins('/dev/null')),
  },
  budgetNs: { [NO_PLUGINS]: 50, [PLUGINS]: 50, [DEFAULT]: 2000, [LOGGED]: 3500 },
  async close() {
    for (const gateway of gateways) await gateway.close()
    directory.close()
  },
}

export default micro

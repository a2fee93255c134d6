import { parseTemplate } from '../../../core/path/template.ts'
import { createCidrSet } from '../../../lib/net/cidr-set.ts'
import {
  buildRouteTable,
  type CompiledRoute,
  createConfiguredRoutes,
} from '../../../platform/gateway/routes/configured-routes.ts'
import inner from '../../../resolvers/path.ts'
import { BenchExchange, BROWSER_FIELDS } from '../bench-exchange.ts'
import type { Micro } from '../micro.ts'

type Conditions = Partial<CompiledRoute['conditions']>

function createRoute(path: string, conditions: Conditions): CompiledRoute {
  return {
    template: parseTemplate(path),
    ...{ hosts: ['*'], methods: [], service: 'shop', endpoint: '', handler: undefined },
    conditions: { headers: [], query: [], clients: undefined, listeners: [], ...conditions },
    rule: { name: path, scope: undefined, rewrite: undefined, handler: undefined },
  }
}

/** Key of a request for one of several paths, in turn. */
function createKey(routes: readonly CompiledRoute[], paths: readonly string[]): () => unknown {
  const { key } = createConfiguredRoutes(buildRouteTable(routes)).wrap(inner)
  const exchanges = paths.map((path) => new BenchExchange(BROWSER_FIELDS, path))
  let next = 0
  return () => {
    next = next + 1 === exchanges.length ? 0 : next + 1
    return key(exchanges[next]!)
  }
}

const clients = createCidrSet(['192.0.2.0/24'], 'client')
const others = Array.from({ length: 10_000 }, (_, i) => createRoute(`/r${i}`, { clients }))
const tenants = Array.from({ length: 10_000 }, (_, i) =>
  createRoute('/tenants', { headers: [{ name: 'x-tenant', kind: 'exact', value: `${i}` }] }),
)
const cookie = { name: 'cookie', kind: 'present', value: '' } as const

const micro: Micro = {
  benches: {
    'no conditions': createKey([createRoute('/a', {})], ['/a']),
    'conditions of 10 000 other paths': createKey([createRoute('/a', {}), ...others], ['/a']),
    'a header and a network': createKey(
      [createRoute('/a', { headers: [cookie], clients })],
      ['/a'],
    ),
    '10 000 routes of one path': createKey(tenants, ['/tenants']),
    '2 000 paths': createKey(
      others,
      Array.from({ length: 2000 }, (_, i) => `/r${i}`),
    ),
  },
  budgetNs: {
    'conditions of 10 000 other paths': 500,
    'a header and a network': 1000,
    '10 000 routes of one path': 1000,
  },
}

export default micro

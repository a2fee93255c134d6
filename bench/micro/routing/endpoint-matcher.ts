import type { Service } from '../../../core/contracts/registry.ts'
import { type EndpointRoute, readDeclared } from '../../../resolvers/endpoint/declared.ts'
import { parseRequestPath } from '../../../resolvers/endpoint/request-path.ts'
import { createEndpointTree } from '../../../resolvers/endpoint/route-bucket.ts'
import type { RouteTree } from '../../../resolvers/endpoint/route-tree.ts'
import type { Micro } from '../micro.ts'

const ENDPOINTS = 10
const NAMESPACE = 'go.mx.api'
const REQUEST = { method: 'GET', host: 'localhost', path: '/greeter/call', namespace: NAMESPACE }
const VALUE = { name: '', type: '', values: [] }

/** Creates a service with ten endpoints, half of them with a literal segment after the variable. */
function createService(index: number): Service {
  return {
    name: `${NAMESPACE}.s${index}`,
    version: 'latest',
    metadata: {},
    nodes: [],
    endpoints: Array.from({ length: ENDPOINTS }, (_, i) => ({
      name: `Things${i}.Get`,
      request: VALUE,
      response: VALUE,
      metadata: {
        path: `/v1/s${index}/things${i}/{id}${i % 2 === 0 ? '' : '/parts/*'}`,
        method: 'GET, PUT',
        handler: 'rpc',
      },
    })),
  }
}

function createRoutes(count: number): EndpointRoute[] {
  return Array.from({ length: count / ENDPOINTS }, (_, i) => createService(i)).flatMap(
    (service) => readDeclared(service).routes,
  )
}

function createMatcher(routes: readonly EndpointRoute[]): RouteTree<EndpointRoute> {
  const matcher = createEndpointTree()
  for (const route of routes) {
    if (!matcher.add(route)) throw new Error('route rejected')
  }
  return matcher
}

/** Finds routes of all services in round-robin order, including path parsing. */
function createFind(count: number): () => unknown {
  const matcher = createMatcher(createRoutes(count))
  const paths = Array.from({ length: count / ENDPOINTS }, (_, i) => `/v1/s${i}/things3/x1/parts/y2`)
  let next = 0
  return () => {
    next = next + 1 === paths.length ? 0 : next + 1
    return matcher.find({ ...REQUEST, path: paths[next]! }, parseRequestPath(paths[next]!)!)
  }
}

const routes = createRoutes(10_000)
const small = createMatcher(createRoutes(10))

const micro: Micro = {
  benches: {
    'find, 10 routes': createFind(10),
    'find, 1 000 routes': createFind(1000),
    'find, 10 000 routes': createFind(10_000),
    'find nothing, 10 routes': () => small.find(REQUEST, parseRequestPath(REQUEST.path)!),
    'rebuild, 10 000 routes': () => createMatcher(routes),
  },
  budgetNs: {
    'find, 10 routes': 3000,
    'find, 10 000 routes': 3000,
    'rebuild, 10 000 routes': 100_000_000,
  },
}

export default micro

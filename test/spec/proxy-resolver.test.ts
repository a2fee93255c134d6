// Specification, "Gateway, handler-based mode": Namespace, Proxy resolver, Versioning.
import t from 'tap'
import type { Route } from '../../core/route.ts'
import proxy from '../../resolvers/proxy.ts'

const NAMESPACE = 'go.mx.api'

function resolve(path: string, namespace = NAMESPACE): Route | undefined {
  return proxy.resolve({ method: 'GET', path, host: 'localhost:8080', namespace })
}

const TABLE: [string, string, string][] = [
  ['/<a>', '/greeter', 'greeter'],
  ['/<a>/<b>', '/greeter/hello', 'greeter'],
  ['/<a>/:<param>', '/greeter/:name', 'greeter'],
]

for (const [shape, path, service] of TABLE) {
  t.test(`| ${shape} | <ns>.<a> | ${shape} |`, async (t) => {
    // No endpoint: the service path is the request's own.
    t.same(resolve(path), { service: `${NAMESPACE}.${service}`, endpoint: '' })
  })
}

t.test('path gives service name', async (t) => {
  t.equal(resolve('/users/list/all')?.service, `${NAMESPACE}.users`)
})

t.test(
  'The service name is the namespace joined to the path-derived service part with a dot: GET /<a> resolves under <ns>.<a>.',
  async (t) => {
    t.equal(resolve('/greeter', 'my.own')?.service, 'my.own.greeter')
    t.equal(resolve('/greeter', '')?.service, 'greeter')
  },
)

t.test(
  'Versioned API paths are supported by putting a version segment v<n> first in the path; it becomes part of the service name (<ns>.v<n>.<a>).',
  async (t) => {
    t.equal(resolve('/v1/greeter/hello')?.service, `${NAMESPACE}.v1.greeter`)
    t.equal(resolve('/v2/greeter/hello/again')?.service, `${NAMESPACE}.v2.greeter`)
  },
)

// Specification, "Gateway, handler-based mode": Namespace, RPC resolver, Versioning.
import t from 'tap'
import type { Route } from '../../core/route.ts'
import rpc from '../../resolvers/rpc.ts'

const NAMESPACE = 'go.mx.api'

function resolve(path: string, namespace = NAMESPACE): Route | undefined {
  return rpc.resolve({ method: 'POST', path, host: 'localhost:8080', namespace })
}

/** Path shape, service, method, and requests of that shape with what they are for. */
const TABLE: [string, string, string, [string, string, string][]][] = [
  [
    '/<a>/<b>',
    '<ns>.<a>',
    '<A>.<B>',
    [
      ['/a/b', 'a', 'A.B'],
      ['/greeter/hello', 'greeter', 'Greeter.Hello'],
      ['/registry/listServices', 'registry', 'Registry.ListServices'],
      ['/v1/foo', 'v1', 'V1.Foo'],
    ],
  ],
  [
    '/<a>/<b>/<c>',
    '<ns>.<a>',
    '<B>.<C>',
    [
      ['/a/b/c', 'a', 'B.C'],
      ['/greeter/say/hello', 'greeter', 'Say.Hello'],
    ],
  ],
  [
    '/<a>/<b>/<c>/<d>',
    '<ns>.<a>.<b>',
    '<C>.<D>',
    [
      ['/a/b/c/d', 'a.b', 'C.D'],
      ['/shop/greeter/say/hello', 'shop.greeter', 'Say.Hello'],
    ],
  ],
  [
    '/v<n>/<a>/<b>',
    '<ns>.v<n>.<a>',
    '<A>.<B>',
    [
      ['/v1/a/b', 'v1.a', 'A.B'],
      ['/v12/greeter/hello', 'v12.greeter', 'Greeter.Hello'],
    ],
  ],
  [
    '/v<n>/<a>/<b>/<c>',
    '<ns>.v<n>.<a>',
    '<B>.<C>',
    [
      ['/v1/a/b/c', 'v1.a', 'B.C'],
      ['/v12/greeter/say/hello', 'v12.greeter', 'Say.Hello'],
    ],
  ],
]

for (const [shape, service, method, rows] of TABLE) {
  t.test(`| ${shape} | ${service} | ${method} |`, async (t) => {
    for (const [path, name, endpoint] of rows)
      t.same(resolve(path), { service: `${NAMESPACE}.${name}`, endpoint }, path)
  })
}

t.test('Segment names are lower case in the path; method parts are capitalised.', async (t) => {
  t.equal(resolve('/greeter/say/hello')?.endpoint, 'Say.Hello')
  t.equal(resolve('/greeter/hello')?.service, `${NAMESPACE}.greeter`)
})

t.test('<endpointName> is lower camel case', async (t) => {
  t.equal(resolve('/registry/listServices')?.endpoint, 'Registry.ListServices')
})

t.test(
  'The service name is the namespace joined to the path-derived service part with a dot: GET /<a> resolves under <ns>.<a>.',
  async (t) => {
    t.equal(resolve('/greeter', 'my.own')?.service, 'my.own.greeter')
  },
)

t.test('Setting the namespace to a single blank space disables it.', async (t) => {
  // The blank is read where settings are; a resolver is told of no namespace.
  t.equal(resolve('/greeter/hello', '')?.service, 'greeter')
})

t.test(
  'Versioned API paths are supported by putting a version segment v<n> first in the path; it becomes part of the service name (<ns>.v<n>.<a>). Different versions can run as different services.',
  async (t) => {
    t.equal(resolve('/v1/greeter/hello')?.service, `${NAMESPACE}.v1.greeter`)
    t.equal(resolve('/v2/greeter/hello')?.service, `${NAMESPACE}.v2.greeter`)
  },
)

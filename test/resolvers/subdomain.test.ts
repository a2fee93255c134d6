import t from 'tap'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { RequestLine, Resolver } from '../../core/route.ts'
import event from '../../resolvers/event.ts'
import rpc from '../../resolvers/rpc.ts'
import createSubdomain from '../../resolvers/subdomain.ts'

const registry = createStaticRegistry([])

function create(domain = 'example.com', inner: Resolver = rpc): Resolver {
  return createSubdomain({ inner, registry, domain, onWarning: () => {} })
}

function at(host: string, path = '/greeter/hello'): RequestLine {
  return { method: 'POST', path, host, namespace: 'go.mx.api' }
}

t.test(
  'derives the namespace from the labels before the base domain, reversed and joined by dashes',
  async (t) => {
    const subdomain = create()
    const rows: [string, string][] = [
      ['shop.example.com', 'shop.greeter'],
      ['staging.shop.example.com', 'shop-staging.greeter'],
      ['a.b.c.example.com', 'c-b-a.greeter'],
      ['Shop.Example.COM:8080', 'shop.greeter'],
      ['shop.example.com.', 'shop.greeter'],
      ['api.shop.example.com', 'shop-api.greeter'],
    ]
    for (const [host, service] of rows)
      t.same(subdomain.resolve(at(host)), { service, endpoint: 'Greeter.Hello' }, host)
  },
)

t.test(
  'does not change the namespace for the base domain, api before it, and other hosts',
  async (t) => {
    const subdomain = create()
    const hosts = [
      'example.com',
      'api.example.com:443',
      'localhost:8080',
      '127.0.0.1',
      '[::1]:8080',
    ]
    for (const host of [...hosts, 'notexample.com', 'example.com.evil.org', ''])
      t.equal(subdomain.resolve(at(host))?.service, 'go.mx.api.greeter', host)
  },
)

t.test('accepts any base domain except an address', async (t) => {
  t.equal(create('localhost').resolve(at('shop.localhost:8080'))?.service, 'shop.greeter')
  for (const domain of ['', '.', 'example.com.', '*.example.com', '127.0.0.1', '[::1]', 'a b', '4'])
    t.throws(() => create(domain), { name: 'RangeError', message: /base domain/ }, domain)
})

t.test('does not resolve a subdomain that is not a valid namespace', async (t) => {
  for (const host of ['.example.com', 'a..example.com', '-.example.com', 'a_.example.com'])
    t.equal(create().resolve(at(host)), undefined, host)
})

t.test('uses different keys for different namespaces', async (t) => {
  const { key } = create()
  const hosts = ['shop.example.com', 'api.example.com', 'staging.shop.example.com']
  t.equal(new Set(hosts.map((host) => key(at(host)))).size, 3)
  t.equal(key(at('shop.example.com')), key(at('SHOP.example.com:80')))
  t.equal(key(at('example.com')), key(at('localhost')))
})

t.test('delegates everything else to the inner resolver', async (t) => {
  let closed = false
  const inner: Resolver = {
    ...event,
    generation: 7,
    ready: Promise.resolve(),
    close: () => {
      closed = true
    },
  }
  const subdomain = create('example.com', inner)
  t.equal(subdomain.names, 'topics')
  t.equal(subdomain.generation, 7)
  t.equal(subdomain.ready, inner.ready)
  t.equal(subdomain.expected, inner.expected)
  subdomain.close?.()
  t.ok(closed)
})

import t from 'tap'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import type { RequestLine, Resolver } from '../../../core/route.ts'
import { findResolver } from '../../../platform/gateway/find-resolver.ts'
import type { Settings } from '../../../platform/settings/settings.ts'

const registry = createStaticRegistry([])

function create(handler: Settings['handler'], resolver = ''): Resolver {
  const created = findResolver({ handler, resolver })({ registry, onWarning: () => {} })
  t.teardown(() => created.close?.())
  return created
}

function at(path: string, host = 'localhost'): RequestLine {
  return { method: 'GET', path, host, namespace: 'ns' }
}

t.test('each handler has its default resolver', async (t) => {
  const rows: [Settings['handler'], string][] = [
    ['api', 'rpc'],
    ['rpc', 'rpc'],
    ['proxy', 'proxy'],
    ['event', 'event'],
    ['web', 'proxy'],
  ]
  for (const [handler, resolver] of rows) t.equal(create(handler).name, resolver, handler)
})

t.test(
  'The default handler uses endpoint metadata from the registry to find routes; if no route matches it falls back to the rpc handler.',
  async (t) => {
    const resolver = create('meta')
    t.equal(resolver.name, 'endpoint')
    t.same(resolver.resolve(at('/a/b')), { service: 'ns.a', endpoint: 'A.B' })
  },
)

t.test('the setting selects another resolver', async (t) => {
  for (const name of ['host', 'path', 'vpath', 'grpc', 'rpc', 'endpoint'])
    t.equal(create('proxy', name).name, name)
  t.same(create('web', 'endpoint').resolve(at('/a/b')), { service: 'ns.a', endpoint: '' })
  t.same(create('api', 'endpoint').resolve(at('/a/b')), { service: 'ns.a', endpoint: 'A.B' })
})

t.test('subdomain wraps the resolver of the handler', async (t) => {
  const rows: [Settings['handler'], string][] = [
    ['proxy', ''],
    ['rpc', 'A.B'],
    ['event', 'b'],
    ['meta', 'A.B'],
  ]
  for (const [handler, endpoint] of rows) {
    const resolver = create(handler, 'subdomain:domain=example.com')
    t.same(
      resolver.resolve(at('/a/b', 'shop.example.com')),
      { service: 'shop.a', endpoint },
      handler,
    )
  }
})

t.test('rejects an invalid resolver with a suggestion', async (t) => {
  const rows: [string, RegExp][] = [
    ['subdomian:domain=x.org', /unknown resolver subdomian; .*; did you mean subdomain/],
    ['hots', /did you mean host/],
    ['subdomain', /resolver must be subdomain:domain=<name>/],
    ['subdomain:domain=', /resolver must be subdomain:domain=<name>/],
    ['subdomain:domain=127.0.0.1', /got "subdomain:domain=127.0.0.1"/],
    ['subdomain:example.com', /such as subdomain:domain=example.com/],
    ['host:domain=example.com', /resolver must be host, got/],
    ['host:', /resolver must be host, got/],
    [':', /unknown resolver/],
    ['__proto__', /unknown resolver/],
  ]
  for (const [resolver, message] of rows)
    t.throws(
      () => findResolver({ handler: 'proxy', resolver }),
      { name: 'SettingsError', message },
      resolver,
    )
})

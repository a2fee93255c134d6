import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Registry } from '../../../../core/contracts/registry.ts'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { createGatewayRouting } from '../../../../platform/gateway/routing/gateway-routing.ts'
import type { Routing } from '../../../../platform/gateway/routing/routing.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { TestExchange } from '../../../../sdk/testing.ts'
import { createPools } from '../../../fixtures/services.ts'

/** Registers a service with a declared path and its address as node id. */
function add(registry: Registry, name: string, address: string, path?: string): void {
  const metadata = path === undefined ? {} : { path, handler: 'rpc', method: 'GET' }
  const value = { name: '', type: '', values: [] }
  const endpoint = { name: 'A.Declared', request: value, response: value, metadata }
  registry.register!({
    name,
    version: 'latest',
    metadata: {},
    endpoints: path === undefined ? [] : [endpoint],
    nodes: [{ id: address, address, metadata: {} }],
  })
}

interface Opened {
  readonly routing: Routing
  readonly main: Registry
  readonly domains: Map<string, Registry>
  /** Target of a request: service, endpoint, and its only node. */
  readonly resolvePath: (path: string, namespace?: string) => Promise<readonly string[]>
}

async function open(t: Test): Promise<Opened> {
  const { settings } = await configurationFrom(new Map(), {}, 'server')()
  const main = createMemoryRegistry()
  const domains = new Map<string, Registry>()
  const { createPool } = createPools()
  const routing = createGatewayRouting({
    settings,
    registry: main,
    domains: { find: (domain) => domains.get(domain) },
    upstream: () => ({ createPool }),
    onServices: () => {},
    log: createLog('silent'),
  })
  t.teardown(() => {
    routing.close()
    for (const registry of [main, ...domains.values()]) registry.close?.()
  })
  const resolvePath = async (path: string, namespace?: string): Promise<readonly string[]> => {
    const headers = namespace === undefined ? {} : { 'mx-namespace': namespace }
    const x = new TestExchange({ method: 'GET', path, headers })
    await routing.route(x)
    const { service, endpoint } = x.route!
    return [service, endpoint, ...x.upstream!.nodes.map(({ id }) => id)]
  }
  return { routing, main, domains, resolvePath }
}

/** Declared routes are applied in a later tick. */
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

t.test('prefers services of the domain to services of the default domain', async (t) => {
  const { main, domains, resolvePath } = await open(t)
  const shop = createMemoryRegistry()
  domains.set('shop', shop)
  add(main, 'both', '127.0.0.1:1')
  add(main, 'main', '127.0.0.1:2')
  add(shop, 'both', '127.0.0.1:3')
  add(shop, 'shop', '127.0.0.1:4')
  t.same(await resolvePath('/both/call'), ['both', 'Both.Call', '127.0.0.1:1'])
  t.same(await resolvePath('/both/call', 'mx'), ['both', 'Both.Call', '127.0.0.1:1'])
  t.same(await resolvePath('/both/call', 'shop'), ['both', 'Both.Call', '127.0.0.1:3'])
  t.same(await resolvePath('/main/call', 'shop'), ['main', 'Main.Call', '127.0.0.1:2'])
  t.same(await resolvePath('/shop/call', 'shop'), ['shop', 'Shop.Call', '127.0.0.1:4'])
  await t.rejects(resolvePath('/shop/call'), { code: 404, message: 'service not found: shop' })
  await t.rejects(resolvePath('/none/call', 'shop'), {
    code: 404,
    message: 'service not found: none',
  })
})

t.test('follows registrations and deregistrations', async (t) => {
  const { main, domains, resolvePath } = await open(t)
  const shop = createMemoryRegistry()
  add(main, 'a', '127.0.0.1:1')
  t.same(
    await resolvePath('/a/call', 'shop'),
    ['a', 'A.Call', '127.0.0.1:1'],
    'the domain does not exist yet',
  )
  domains.set('shop', shop)
  t.same(
    await resolvePath('/a/call', 'shop'),
    ['a', 'A.Call', '127.0.0.1:1'],
    'the domain is empty',
  )
  add(shop, 'a', '127.0.0.1:2')
  t.same(await resolvePath('/a/call', 'shop'), ['a', 'A.Call', '127.0.0.1:2'])
  await shop.deregister!((await shop.getService('a'))[0]!)
  t.same(await resolvePath('/a/call', 'shop'), ['a', 'A.Call', '127.0.0.1:1'])
  domains.delete('shop')
  t.same(await resolvePath('/a/call', 'shop'), ['a', 'A.Call', '127.0.0.1:1'])
})

t.test('routes declared paths only within their domain', async (t) => {
  const { main, domains, resolvePath } = await open(t)
  const shop = createMemoryRegistry()
  domains.set('shop', shop)
  add(shop, 'orders', '127.0.0.1:1', '/orders/{id}')
  add(main, 'users', '127.0.0.1:2', '/users/{id}')
  await nextTick()
  t.same(await resolvePath('/orders/1', 'shop'), ['orders', 'A.Declared', '127.0.0.1:1'])
  t.same(await resolvePath('/users/1', 'shop'), ['users', 'A.Declared', '127.0.0.1:2'])
  t.same(await resolvePath('/users/1'), ['users', 'A.Declared', '127.0.0.1:2'])
  await t.rejects(resolvePath('/orders/1'), { code: 404 })
})

t.test('an explicit call finds the service of its domain', async (t) => {
  const { routing, main, domains } = await open(t)
  const shop = createMemoryRegistry()
  domains.set('shop', shop)
  add(main, 'a', '127.0.0.1:1')
  add(shop, 'a', '127.0.0.1:2')
  const find = async (headers: Record<string, string> = {}) => {
    const result = await routing.find('a', new TestExchange({ path: '/rpc', headers }))
    return result?.nodes.map(({ id }) => id)
  }
  t.same(await find(), ['127.0.0.1:1'])
  t.same(await find({ 'mx-namespace': 'shop' }), ['127.0.0.1:2'])
  t.same(await find({ 'mx-namespace': 'none' }), ['127.0.0.1:1'])
})

t.test('namespaces without services use no memory', async (t) => {
  const { main, domains, resolvePath } = await open(t)
  add(main, 'a', '127.0.0.1:1')
  let watched = 0
  const counting = createMemoryRegistry()
  domains.set('shop', {
    ...counting,
    watch: (...options) => {
      watched++
      return counting.watch!(...options)
    },
  })
  for (let i = 0; i < 1000; i++) await resolvePath('/a/call', `n${i}`)
  t.equal(watched, 0)
  await resolvePath('/a/call', 'shop')
  const first = watched
  t.ok(first > 0)
  for (let i = 0; i < 1000; i++) await resolvePath('/a/call', 'shop')
  t.equal(watched, first, 'the routing of a domain is created once')
})

t.test('stops watching a removed domain when another one is created', async (t) => {
  const { main, domains, resolvePath } = await open(t)
  add(main, 'a', '127.0.0.1:1')
  const shop = createMemoryRegistry()
  let watching = 0
  domains.set('shop', {
    ...shop,
    watch: (...options) => {
      watching++
      const stop = shop.watch!(...options)
      return () => {
        watching--
        stop()
      }
    },
  })
  await resolvePath('/a/call', 'shop')
  t.ok(watching > 0)
  domains.delete('shop')
  domains.set('other', createMemoryRegistry())
  await resolvePath('/a/call', 'other')
  t.equal(watching, 0)
})

import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../../adapters/registry/static.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { TestExchange } from '../../../sdk/testing.ts'
import { createRemote, flushPromises, openServiceCache, ports } from '../../fixtures/directories.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { connectAll, createPools, makeService } from '../../fixtures/services.ts'

const x = new TestExchange({ path: '/greeter' })

t.test('find returns synchronously if the registry does', async (t) => {
  const { cache } = openServiceCache(
    t,
    createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])]),
  )
  const upstream = cache.find('greeter')
  t.type(upstream, Upstream)
  t.equal(cache.find('greeter'), upstream)
  t.equal(cache.find('missing'), undefined)
  t.equal(cache.find('__proto__'), undefined)
})

t.test('a registered service without nodes is found, and pick returns undefined', async (t) => {
  const { cache } = openServiceCache(t, createStaticRegistry([makeService('greeter', [])]))
  const upstream = cache.find('greeter') as Upstream
  t.same(ports(upstream), [])
  t.equal(upstream.pick(x), undefined)
})

t.test('changes of a watched service are applied in place', async (t) => {
  const registry = createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])])
  const { cache, closedPorts } = openServiceCache(t, registry)
  const upstream = cache.find('greeter') as Upstream
  const [node] = upstream.nodes
  const { generation } = cache
  registry.replace([
    makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002']),
    makeService('greeter', ['127.0.0.1:9003'], 'next'),
  ])
  t.same(ports(upstream), [9001, 9002, 9003])
  connectAll(upstream)
  t.equal(upstream.nodes[0], node)
  registry.replace([makeService('greeter', ['127.0.0.1:9003'], 'next')])
  t.same(ports(upstream), [9003])
  t.same(closedPorts(), [9001, 9002])
  t.equal(cache.find('greeter'), upstream)
  t.equal(cache.generation, generation, 'no service appeared or disappeared')
})

t.test('the generation increases when a service appears or disappears', async (t) => {
  const registry = createMemoryRegistry()
  const { cache, closedPorts } = openServiceCache(t, registry)
  const service = makeService('greeter', ['127.0.0.1:9001'])
  t.equal(cache.find('greeter'), undefined)
  let { generation } = cache
  await registry.register?.(service)
  t.ok(cache.generation > generation, 'appeared')
  generation = cache.generation
  t.same(ports(cache.find('greeter') as Upstream), [9001])
  connectAll(cache.find('greeter') as Upstream)
  t.equal(cache.generation, generation, 'a lookup does not change the generation')
  await registry.deregister?.(service)
  t.ok(cache.generation > generation, 'disappeared')
  t.equal(cache.find('greeter'), undefined)
  t.same(closedPorts(), [9001])
})

t.test('concurrent lookups of a service share one registry request', async (t) => {
  const { registry, requests, respond } = createRemote()
  const { cache } = openServiceCache(t, registry)
  const result = [cache.find('greeter'), cache.find('greeter')]
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  const [one, two] = await Promise.all(result)
  t.equal(one, two)
  t.same(ports(one), [9001])
  t.equal(cache.find('greeter'), one, 'the result is cached')
  t.same(requests, ['greeter'])
})

t.test('events during a lookup are applied to its result', async (t) => {
  const { registry, respond, notify } = createRemote(true)
  const { cache } = openServiceCache(t, registry)
  const appearing = cache.find('greeter')
  const { generation } = cache
  notify({ type: 'create', service: makeService('greeter', ['127.0.0.1:9002']) })
  respond([])
  t.same(ports(await appearing), [9002])
  t.ok(cache.generation > generation)

  const lookup = cache.find('users')
  notify({ type: 'delete', service: makeService('users', []) })
  respond([makeService('users', ['127.0.0.1:9003'])])
  t.equal(await lookup, undefined)
})

t.test('a failed first lookup returns 503, and the next request retries it', async (t) => {
  const { registry, respond, fail } = createRemote()
  const reported: string[] = []
  const { cache } = openServiceCache(t, registry, {
    onError: (service, error) => reported.push(`${service}: ${(error as Error).message}`),
  })
  const failing = Promise.resolve(cache.find('greeter'))
  fail(new Error('connection refused'))
  await t.rejects(failing, {
    code: 503,
    id: 'greeter',
    message: 'cannot look up greeter: the registry is unavailable',
  })
  t.same(reported, ['greeter: connection refused'])
  const repeated = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  t.same(ports(await repeated), [9001])
})

t.test('the error for a denied registry access does not contain the reason', async (t) => {
  const { registry, fail } = createRemote()
  const { cache } = openServiceCache(t, registry)
  const failing = Promise.resolve(cache.find('greeter'))
  fail(Object.assign(new Error('ACL not found: secret'), { denied: true }))
  await t.rejects(failing, {
    code: 503,
    message: /^cannot look up greeter: the registry denies access$/,
  })
})

t.test('an error thrown by the registry returns 503', async (t) => {
  const { cache } = openServiceCache(t, {
    name: 'broken',
    getService: () => {
      throw new Error('no such file')
    },
    listServices: () => [],
  })
  t.throws(() => cache.find('greeter'), { code: 503 })
})

t.test('a lookup without a response within lookupTimeoutMs fails with 503', async (t) => {
  const { registry } = createRemote()
  const reported: unknown[] = []
  // The timer of the cache is unreferenced.
  keepAlive(t)
  const { cache } = openServiceCache(t, registry, {
    lookupTimeoutMs: 1,
    onError: (_, error) => reported.push(error),
  })
  await t.rejects(Promise.resolve(cache.find('greeter')), { code: 503 })
  t.match(reported, [{ message: 'no response within 1 ms' }])
})

t.test('without a watch, services in use are fetched again on every sweep', async (t) => {
  let now = 0
  const { registry, requests, respond, fail } = createRemote()
  const { cache, closedPorts } = openServiceCache(t, registry, { nowMs: () => now, unusedMs: 1e6 })
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  const upstream = await result
  cache.sweep()
  cache.sweep()
  t.same(requests, ['greeter', 'greeter'], 'one request at a time')
  respond([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  await flushPromises()
  t.same(ports(upstream), [9001, 9002])
  connectAll(upstream)

  cache.sweep()
  fail(new Error('connection refused'))
  await flushPromises()
  t.equal(cache.find('greeter'), upstream)
  t.same(ports(upstream), [9001, 9002], 'the last result stays in use')
  t.match(cache.outage, { reason: { message: 'connection refused' }, durationMs: 0 })

  const { generation } = cache
  cache.sweep()
  respond([])
  await flushPromises()
  t.equal(cache.outage, undefined)
  t.same(ports(upstream), [9001, 9002], 'missing nodes are retained immediately after an outage')
  now = 95_000
  cache.sweep()
  t.ok(cache.generation > generation)
  t.same(closedPorts(), [9001, 9002], 'the removed service is dropped')
})

t.test('rejects more than maxLookups concurrent lookups with 503', async (t) => {
  const { registry, requests, respond } = createRemote()
  const { cache } = openServiceCache(t, registry, { maxLookups: 2 })
  const result = [cache.find('a'), cache.find('b')]
  t.throws(() => cache.find('c'), { code: 503, headers: ['retry-after', '1'] })
  t.ok(cache.find('a'), 'a lookup in flight can be shared')
  respond([])
  respond([])
  t.same(await Promise.all(result), [undefined, undefined])
  const third = cache.find('c')
  respond([])
  t.equal(await third, undefined, 'later lookups succeed')
  t.same(requests, ['a', 'b', 'c'])
})

t.test('unused services beyond maxUnused are dropped, the least recently used first', async (t) => {
  let now = 0
  const services = ['a', 'b', 'c', 'd'].map((name, i) =>
    makeService(name, [`127.0.0.1:${9001 + i}`]),
  )
  const { cache, closedPorts } = openServiceCache(t, createStaticRegistry(services), {
    nowMs: () => now,
    unusedMs: 1000,
    maxUnused: 1,
  })
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => cache.find(name) as Upstream)
  for (const upstream of [a, b, c, d]) connectAll(upstream)
  cache.sweep()
  now = 500
  b?.pick(x)
  cache.sweep()
  now = 1400
  a?.pick(x)
  cache.sweep()
  t.equal(cache.size, 3, 'one of the unused services c and d is dropped')
  now = 1500
  const { generation } = cache
  c?.pick(x)
  d?.pick(x)
  cache.sweep()
  t.equal(cache.generation, generation, 'one unused service is retained')
  now = 5000
  a!.nodes[0]!.active = 1
  cache.sweep()
  t.equal(cache.find('a'), a, 'a service with requests in flight is retained')
  t.ok(closedPorts().length >= 2)
  t.ok(cache.generation > generation, 'cached routes to other services are invalid')
})

t.test('unused services are dropped if the registry has no watch', async (t) => {
  let now = 0
  const { registry, respond } = createRemote()
  const { cache } = openServiceCache(t, registry, { nowMs: () => now, unusedMs: 1000 })
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  await result
  cache.sweep()
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  await flushPromises()
  now = 1000
  cache.sweep()
  t.equal(cache.size, 0)
})

t.test('reconfigure applies new load-balancing options to services in use', async (t) => {
  const { createPool } = createPools()
  let cookie = 'one'
  const { cache } = openServiceCache(
    t,
    createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])]),
    {
      upstream: () => ({ createPool, balance: { kind: 'random', sticky: { cookie } } }),
    },
  )
  const upstream = cache.find('greeter') as Upstream
  cookie = 'two'
  cache.reconfigure()
  t.match(upstream.replyCookie?.(x, upstream.nodes[0]!), /^two=/)
})

t.test('a closed cache has no connections and ignores events', async (t) => {
  const registry = createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])])
  const { cache, closedPorts } = openServiceCache(t, registry)
  const upstream = cache.find('greeter') as Upstream
  connectAll(upstream)
  cache.close()
  t.same(closedPorts(), [9001])
  registry.replace([makeService('greeter', ['127.0.0.1:9002'])])
  t.same(ports(upstream), [])
  t.equal(cache.find('greeter'), undefined)
})

t.test('services in use are watched, and others are not', async (t) => {
  let now = 0
  const { registry, respond, fail, watchedServices, requests } = createRemote(true)
  const { cache } = openServiceCache(t, registry, {
    nowMs: () => now,
    unusedMs: 1000,
    maxUnused: 0,
  })
  t.same(watchedServices(), [undefined], 'one watch for new services')
  const result = [cache.find('a'), cache.find('b'), Promise.resolve(cache.find('c'))]
  t.same(
    watchedServices(),
    [undefined, 'a', 'b', 'c'],
    'fetched before the response, which may be outdated',
  )
  respond([makeService('a', ['127.0.0.1:9001'])])
  respond([])
  fail(new Error('connection refused'))
  await Promise.allSettled(result)
  t.same(watchedServices(), [undefined, 'a'])
  now = 500
  cache.sweep()
  t.same(requests, ['a', 'b', 'c'], 'watched services are not fetched again')
  now = 2000
  cache.sweep()
  t.same(watchedServices(), [undefined], 'dropped services are not watched')
  t.equal(cache.size, 0)
  const repeated = cache.find('a')
  respond([makeService('a', ['127.0.0.1:9001'])])
  await repeated
  cache.close()
  t.same(watchedServices(), [])
  t.equal(cache.find('a'), undefined)
  t.same(watchedServices(), [])
})

t.test('events of services that were not looked up do not change the generation', async (t) => {
  const { registry, respond, notify } = createRemote(true)
  const { cache } = openServiceCache(t, registry)
  const { generation } = cache
  for (let i = 0; i < 100; i++) {
    notify({ type: 'create', service: makeService(`s${i}`, ['127.0.0.1:9001']) })
    notify({ type: 'update', service: makeService(`s${i}`, []) })
    notify({ type: 'delete', service: makeService(`s${i}`, []) })
  }
  t.equal(cache.generation, generation)
  const missing = cache.find('s1')
  respond([])
  t.equal(await missing, undefined)
  notify({ type: 'create', service: makeService('s2', ['127.0.0.1:9001']) })
  t.equal(cache.generation, generation)
  notify({ type: 'create', service: makeService('s1', []) })
  t.equal(cache.generation, generation + 1, 'except for a service whose lookup failed')
})

t.test(
  'a service created while its empty lookup result is processed changes the generation',
  async (t) => {
    const { registry, respond, notify } = createRemote(true)
    const { cache } = openServiceCache(t, registry)
    const { generation } = cache
    const missing = cache.find('greeter')
    // The watch of all services may receive the event first, and the watch of this service too late.
    respond([])
    notify({ type: 'create', service: makeService('greeter', []) })
    await missing
    t.ok(cache.generation > generation)
  },
)

t.test(
  'after 10,000 failed lookups the names are cleared and the generation increases',
  async (t) => {
    const registry = createMemoryRegistry()
    const { cache } = openServiceCache(t, registry)
    const { generation } = cache
    for (let i = 0; i <= 10_000; i++) cache.find(`missing${i}`)
    t.equal(cache.generation, generation + 1, 'routes cached from failed lookups are invalid')
    await registry.register?.(makeService('missing10000', ['127.0.0.1:9001']))
    t.equal(cache.generation, generation + 2)
  },
)

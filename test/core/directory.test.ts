import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type {
  Registry,
  RegistryEvent,
  Service,
  WatchOptions,
} from '../../core/contracts/registry.ts'
import { Directory, type DirectoryOptions } from '../../core/directory.ts'
import { Upstream } from '../../core/upstream/upstream.ts'
import { TestExchange } from '../../sdk/testing.ts'
import { connectAll, createPools, makeNode, makeService } from '../fixtures/services.ts'

const x = new TestExchange({ path: '/greeter' })

function open(
  t: Test,
  registry: Registry,
  options: Partial<DirectoryOptions> = {},
): { directory: Directory; closedPorts: () => number[] } {
  const { createPool, closedPorts } = createPools()
  const directory = new Directory(registry, { upstream: () => ({ createPool }), ...options })
  t.teardown(() => {
    directory.close()
    return registry.close?.()
  })
  return { directory, closedPorts }
}

/** A registry elsewhere: its answers come when the test says so. */
function createRemote(watched = false): {
  registry: Registry
  asked: string[]
  answer: (services: readonly Service[]) => void
  refuse: (error: Error) => void
  tell: (event: RegistryEvent) => void
  watched: () => (string | undefined)[]
  /** Tells every watch, or those of these services, that it is cut off, or with undefined that it is not. */
  outage: (reason: Error | undefined, services?: readonly (string | undefined)[]) => void
} {
  const asked: string[] = []
  const waiting: PromiseWithResolversOf<readonly Service[]>[] = []
  const watches = new Set<{
    readonly listener: (event: RegistryEvent) => void
    readonly options: WatchOptions
  }>()
  const registry: Registry = {
    name: 'remote',
    getService(name) {
      asked.push(name)
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
    listServices: () => [],
    ...(watched && {
      watch: (listener, options = {}) => {
        const watch = { listener, options }
        watches.add(watch)
        return () => watches.delete(watch)
      },
    }),
  }
  return {
    registry,
    asked,
    answer: (services) => waiting.shift()?.resolve(services),
    refuse: (error) => waiting.shift()?.reject(error),
    tell: (event) => {
      for (const { listener, options } of [...watches]) {
        const { service = event.service.name } = options
        if (service === event.service.name) listener(event)
      }
    },
    watched: () => [...watches].map(({ options }) => options.service),
    outage: (reason, services) => {
      for (const { options } of [...watches])
        if (services?.includes(options.service) ?? true) options.onOutage?.(reason)
    },
  }
}

interface PromiseWithResolversOf<T> {
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
}

function ports(upstream: Upstream | undefined): number[] | undefined {
  return upstream?.nodes.map(({ port }) => port)
}

/** Lets everything that waits for a settled promise run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

t.test('a service is found at once where the registry answers at once', async (t) => {
  const { directory } = open(t, createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])]))
  const upstream = directory.find('greeter')
  t.type(upstream, Upstream)
  t.equal(directory.find('greeter'), upstream)
  t.equal(directory.find('nobody'), undefined)
  t.equal(directory.find('__proto__'), undefined)
})

t.test('a known service without nodes is found, and has none to choose', async (t) => {
  const { directory } = open(t, createStaticRegistry([makeService('greeter', [])]))
  const upstream = directory.find('greeter') as Upstream
  t.same(ports(upstream), [])
  t.equal(upstream.pick(x), undefined)
})

t.test('changes of a watched service are taken over in place', async (t) => {
  const registry = createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])])
  const { directory, closedPorts } = open(t, registry)
  const upstream = directory.find('greeter') as Upstream
  const [kept] = upstream.nodes
  const { generation } = directory
  registry.replace([
    makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002']),
    makeService('greeter', ['127.0.0.1:9003'], 'next'),
  ])
  t.same(ports(upstream), [9001, 9002, 9003])
  connectAll(upstream)
  t.equal(upstream.nodes[0], kept)
  registry.replace([makeService('greeter', ['127.0.0.1:9003'], 'next')])
  t.same(ports(upstream), [9003])
  t.same(closedPorts(), [9001, 9002])
  t.equal(directory.find('greeter'), upstream)
  t.equal(directory.generation, generation, 'it neither appeared nor disappeared')
})

t.test('the generation rises when a service appears or disappears', async (t) => {
  const registry = createMemoryRegistry()
  const { directory, closedPorts } = open(t, registry)
  const service = makeService('greeter', ['127.0.0.1:9001'])
  t.equal(directory.find('greeter'), undefined)
  let { generation } = directory
  await registry.register?.(service)
  t.ok(directory.generation > generation, 'appeared')
  generation = directory.generation
  t.same(ports(directory.find('greeter') as Upstream), [9001])
  connectAll(directory.find('greeter') as Upstream)
  t.equal(directory.generation, generation, 'looking it up changes nothing for others')
  await registry.deregister?.(service)
  t.ok(directory.generation > generation, 'disappeared')
  t.equal(directory.find('greeter'), undefined)
  t.same(closedPorts(), [9001])
})

t.test('a lookup under way is shared by all who ask', async (t) => {
  const { registry, asked, answer } = createRemote()
  const { directory } = open(t, registry)
  const found = [directory.find('greeter'), directory.find('greeter')]
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  const [one, two] = await Promise.all(found)
  t.equal(one, two)
  t.same(ports(one), [9001])
  t.equal(directory.find('greeter'), one, 'from then on the answer is there')
  t.same(asked, ['greeter'])
})

t.test('what is told during a lookup is not lost', async (t) => {
  const { registry, answer, tell } = createRemote(true)
  const { directory } = open(t, registry)
  const appearing = directory.find('greeter')
  const { generation } = directory
  tell({ type: 'create', service: makeService('greeter', ['127.0.0.1:9002']) })
  answer([])
  t.same(ports(await appearing), [9002])
  t.ok(directory.generation > generation)

  const leaving = directory.find('users')
  tell({ type: 'delete', service: makeService('users', []) })
  answer([makeService('users', ['127.0.0.1:9003'])])
  t.equal(await leaving, undefined)
})

t.test('a first lookup that fails is 503, and the next request asks again', async (t) => {
  const { registry, answer, refuse } = createRemote()
  const reported: string[] = []
  const { directory } = open(t, registry, {
    onError: (service, error) => reported.push(`${service}: ${(error as Error).message}`),
  })
  const failing = Promise.resolve(directory.find('greeter'))
  refuse(new Error('connection refused'))
  await t.rejects(failing, {
    code: 503,
    id: 'greeter',
    message: 'cannot look up greeter: the registry does not answer',
  })
  t.same(reported, ['greeter: connection refused'])
  const again = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  t.same(ports(await again), [9001])
})

t.test('a registry that refuses is told as that, without the reason', async (t) => {
  const { registry, refuse } = createRemote()
  const { directory } = open(t, registry)
  const failing = Promise.resolve(directory.find('greeter'))
  refuse(Object.assign(new Error('ACL not found: secret'), { denied: true }))
  await t.rejects(failing, {
    code: 503,
    message: /^cannot look up greeter: the registry refuses access$/,
  })
})

t.test('a registry that throws is 503 too', async (t) => {
  const { directory } = open(t, {
    name: 'broken',
    getService: () => {
      throw new Error('no such file')
    },
    listServices: () => [],
  })
  t.throws(() => directory.find('greeter'), { code: 503 })
})

t.test('a registry that does not answer is given up', async (t) => {
  const { registry } = createRemote()
  const reported: unknown[] = []
  // The directory's own timer does not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const { directory } = open(t, registry, {
    lookupTimeoutMs: 1,
    onError: (_, error) => reported.push(error),
  })
  await t.rejects(Promise.resolve(directory.find('greeter')), { code: 503 })
  t.match(reported, [{ message: 'no answer within 1 ms' }])
})

t.test('without a watch, services in use are asked for again', async (t) => {
  let now = 0
  const { registry, asked, answer, refuse } = createRemote()
  const { directory, closedPorts } = open(t, registry, { nowMs: () => now, unusedMs: 1e6 })
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  const upstream = await found
  directory.sweep()
  directory.sweep()
  t.same(asked, ['greeter', 'greeter'], 'one question at a time')
  answer([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  await settle()
  t.same(ports(upstream), [9001, 9002])
  connectAll(upstream)

  directory.sweep()
  refuse(new Error('connection refused'))
  await settle()
  t.equal(directory.find('greeter'), upstream)
  t.same(ports(upstream), [9001, 9002], 'the last good answer stays')
  t.match(directory.outage, { reason: { message: 'connection refused' }, forMs: 0 })

  const { generation } = directory
  directory.sweep()
  answer([])
  await settle()
  t.equal(directory.outage, undefined)
  t.same(ports(upstream), [9001, 9002], 'and what comes right after an outage is in doubt')
  now = 95_000
  directory.sweep()
  t.ok(directory.generation > generation)
  t.same(closedPorts(), [9001, 9002], 'a service that is gone is forgotten')
})

t.test('lookups that clients cause are bounded', async (t) => {
  const { registry, asked, answer } = createRemote()
  const { directory } = open(t, registry, { maxLookups: 2 })
  const found = [directory.find('a'), directory.find('b')]
  t.throws(() => directory.find('c'), { code: 503, headers: ['retry-after', '1'] })
  t.ok(directory.find('a'), 'one that is under way may be waited for')
  answer([])
  answer([])
  t.same(await Promise.all(found), [undefined, undefined])
  const third = directory.find('c')
  answer([])
  t.equal(await third, undefined, 'and then others have their turn')
  t.same(asked, ['a', 'b', 'c'])
})

t.test('services nobody uses any more are forgotten, the longest unused first', async (t) => {
  let now = 0
  const services = ['a', 'b', 'c', 'd'].map((name, i) =>
    makeService(name, [`127.0.0.1:${9001 + i}`]),
  )
  const { directory, closedPorts } = open(t, createStaticRegistry(services), {
    nowMs: () => now,
    unusedMs: 1000,
    maxUnused: 1,
  })
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => directory.find(name) as Upstream)
  for (const upstream of [a, b, c, d]) connectAll(upstream)
  directory.sweep()
  now = 500
  b?.pick(x)
  directory.sweep()
  now = 1400
  a?.pick(x)
  directory.sweep()
  t.equal(directory.size, 3, 'c and d are unused: one of them is forgotten')
  now = 1500
  const { generation } = directory
  c?.pick(x)
  d?.pick(x)
  directory.sweep()
  t.equal(directory.generation, generation, 'one unused service is kept')
  now = 5000
  a!.nodes[0]!.active = 1
  directory.sweep()
  t.equal(directory.find('a'), a, 'never one with requests in flight')
  t.ok(closedPorts().length >= 2)
  t.ok(directory.generation > generation, 'cached routes to the others are void')
})

t.test('unused services are not kept where nobody watches them', async (t) => {
  let now = 0
  const { registry, answer } = createRemote()
  const { directory } = open(t, registry, { nowMs: () => now, unusedMs: 1000 })
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  await found
  directory.sweep()
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  await settle()
  now = 1000
  directory.sweep()
  t.equal(directory.size, 0)
})

t.test('the way to choose nodes can be changed for services in use', async (t) => {
  const { createPool } = createPools()
  let cookie = 'one'
  const { directory } = open(
    t,
    createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])]),
    {
      upstream: () => ({ createPool, balance: { kind: 'random', sticky: { cookie } } }),
    },
  )
  const upstream = directory.find('greeter') as Upstream
  cookie = 'two'
  directory.reconfigure()
  t.match(upstream.replyCookie?.(x, upstream.nodes[0]!), /^two=/)
})

t.test('a closed directory holds no connections and hears nothing', async (t) => {
  const registry = createStaticRegistry([makeService('greeter', ['127.0.0.1:9001'])])
  const { directory, closedPorts } = open(t, registry)
  const upstream = directory.find('greeter') as Upstream
  connectAll(upstream)
  directory.close()
  t.same(closedPorts(), [9001])
  registry.replace([makeService('greeter', ['127.0.0.1:9002'])])
  t.same(ports(upstream), [])
  t.equal(directory.find('greeter'), undefined)
})

t.test('each service in use is watched, and no other', async (t) => {
  let now = 0
  const { registry, answer, refuse, watched, asked } = createRemote(true)
  const { directory } = open(t, registry, { nowMs: () => now, unusedMs: 1000, maxUnused: 0 })
  t.same(watched(), [undefined], 'all, for what appears')
  const found = [directory.find('a'), directory.find('b'), Promise.resolve(directory.find('c'))]
  t.same(watched(), [undefined, 'a', 'b', 'c'], 'before the answer, which may be outdated by then')
  answer([makeService('a', ['127.0.0.1:9001'])])
  answer([])
  refuse(new Error('connection refused'))
  await Promise.allSettled(found)
  t.same(watched(), [undefined, 'a'])
  now = 500
  directory.sweep()
  t.same(asked, ['a', 'b', 'c'], 'and what is watched is not asked again')
  now = 2000
  directory.sweep()
  t.same(watched(), [undefined], 'nor is what was forgotten')
  t.equal(directory.size, 0)
  const again = directory.find('a')
  answer([makeService('a', ['127.0.0.1:9001'])])
  await again
  directory.close()
  t.same(watched(), [])
  t.equal(directory.find('a'), undefined)
  t.same(watched(), [])
})

t.test('services nobody asked for change nothing', async (t) => {
  const { registry, answer, tell } = createRemote(true)
  const { directory } = open(t, registry)
  const { generation } = directory
  for (let i = 0; i < 100; i++) {
    tell({ type: 'create', service: makeService(`s${i}`, ['127.0.0.1:9001']) })
    tell({ type: 'update', service: makeService(`s${i}`, []) })
    tell({ type: 'delete', service: makeService(`s${i}`, []) })
  }
  t.equal(directory.generation, generation)
  const missing = directory.find('s1')
  answer([])
  t.equal(await missing, undefined)
  tell({ type: 'create', service: makeService('s2', ['127.0.0.1:9001']) })
  t.equal(directory.generation, generation)
  tell({ type: 'create', service: makeService('s1', []) })
  t.equal(directory.generation, generation + 1, 'but one that was looked up in vain')
})

t.test(
  'a service that appears between the answer and its arrival was not looked up in vain',
  async (t) => {
    const { registry, answer, tell } = createRemote(true)
    const { directory } = open(t, registry)
    const { generation } = directory
    const missing = directory.find('greeter')
    // The watch of all services may be told first, and that of this one too late.
    answer([])
    tell({ type: 'create', service: makeService('greeter', []) })
    await missing
    t.ok(directory.generation > generation)
  },
)

t.test('names that are looked up in vain are remembered up to a bound', async (t) => {
  const registry = createMemoryRegistry()
  const { directory } = open(t, registry)
  const { generation } = directory
  for (let i = 0; i <= 10_000; i++) directory.find(`nobody${i}`)
  t.equal(directory.generation, generation + 1, 'then all that was concluded from them is void')
  await registry.register?.(makeService('nobody10000', ['127.0.0.1:9001']))
  t.equal(directory.generation, generation + 2)
})

t.test('while the registry is away, the last good answer stays without limit', async (t) => {
  let now = 0
  const told: string[] = []
  const errors: string[] = []
  const { registry, answer, refuse, outage } = createRemote(true)
  const { directory } = open(t, registry, {
    nowMs: () => now,
    unusedMs: 1e12,
    onOutage: (state, { reason, forMs }) => told.push(`${state} ${reason.message} ${forMs}`),
    onError: (service) => errors.push(service),
  })
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001'])])
  const upstream = await found
  t.equal(directory.outage, undefined)
  outage(new Error('connection refused'))
  const hour = 3_600_000
  now = 24 * hour
  directory.sweep()
  t.equal(directory.find('greeter'), upstream)
  t.same(ports(upstream), [9001])
  t.match(directory.outage, { reason: { message: 'connection refused' }, forMs: 24 * hour })
  const other = Promise.resolve(directory.find('users'))
  refuse(new Error('connection refused'))
  await t.rejects(other, { code: 503 })
  t.same(errors, [], 'the outage is told of already')
  outage(undefined)
  t.equal(directory.outage, undefined)
  directory.sweep()
  t.same(told, [
    'began connection refused 0',
    `lasts connection refused ${24 * hour}`,
    `ended connection refused ${24 * hour}`,
  ])
})

t.test(
  'a registry that was started anew, empty, takes away no node that registers again',
  async (t) => {
    let now = 0
    const { registry, answer, tell, outage } = createRemote(true)
    const { directory, closedPorts } = open(t, registry, { nowMs: () => now, unusedMs: 1e12 })
    const one = makeService('greeter', ['127.0.0.1:9001'])
    const two = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
    const found = directory.find('greeter')
    answer([two])
    const upstream = await found
    outage(new Error('connection refused'))
    now = 60_000
    connectAll(upstream)
    tell({ type: 'delete', service: makeService('greeter', []) })
    outage(undefined)
    t.same(ports(upstream), [9001, 9002])
    t.equal(directory.find('greeter'), upstream)
    now += 30_000
    tell({ type: 'create', service: one })
    tell({ type: 'create', service: makeService('greeter', ['127.0.0.1:9003'], 'next') })
    t.same(ports(upstream), [9001, 9002, 9003], 'what is new takes part at once')
    now += 64_999
    directory.sweep()
    t.same(closedPorts(), [])
    now += 1
    directory.sweep()
    t.same(ports(upstream), [9001, 9003], 'what has not come back in 95 s is gone')
    tell({ type: 'delete', service: makeService('greeter', []) })
    t.same(ports(upstream), [9003], 'and what is told after the outage is true')
  },
)

t.test('after an outage, nodes that leave are gone at once', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory } = open(t, registry, { nowMs: () => 0 })
  const all = Array.from({ length: 40 }, (_, i) => `127.0.0.1:${9001 + i}`)
  const found = directory.find('greeter')
  answer([makeService('greeter', all)])
  const upstream = await found
  outage(new Error('connection refused'))
  tell({ type: 'update', service: makeService('greeter', all) })
  outage(undefined)
  tell({ type: 'update', service: makeService('greeter', all.slice(36)) })
  t.same(ports(upstream), [9037, 9038, 9039, 9040])
})

t.test('watches that come and go keep no node of another service, and none of later', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory } = open(t, registry, { nowMs: () => 0 })
  const found = [directory.find('greeter'), directory.find('users')]
  answer([makeService('greeter', ['127.0.0.1:9000'])])
  answer([makeService('users', ['127.0.0.1:8000'])])
  const [greeter] = await Promise.all(found)
  for (let port = 9001; port <= 9120; port++) {
    outage(new Error('connection refused'), ['users', undefined])
    tell({ type: 'update', service: makeService('greeter', [`127.0.0.1:${port}`]) })
    outage(undefined, ['users', undefined])
  }
  t.same(ports(greeter), [9120])
})

t.test('a node that is named again after an outage is held no more', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory } = open(t, registry, { nowMs: () => 0 })
  const both = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
  const one = makeService('greeter', ['127.0.0.1:9001'])
  const found = directory.find('greeter')
  answer([both])
  const upstream = await found
  outage(new Error('connection refused'))
  tell({ type: 'update', service: one })
  outage(undefined)
  t.same(ports(upstream), [9001, 9002])
  tell({ type: 'update', service: both })
  tell({ type: 'update', service: one })
  t.same(ports(upstream), [9001])
})

t.test('held nodes that take no connection are gone, all of them if need be', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory, closedPorts } = open(t, registry, { nowMs: () => 0 })
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002', '127.0.0.1:9003'])])
  const upstream = await found
  connectAll(upstream)
  outage(new Error('connection refused'))
  upstream?.failed(upstream.nodes[0]!, 'connect')
  t.same(ports(upstream), [9001, 9002, 9003], 'one the registry named last is ejected, no more')
  tell({ type: 'delete', service: makeService('greeter', []) })
  outage(undefined)
  upstream?.failed(upstream.nodes[1]!, 'gateway')
  t.same(ports(upstream), [9001, 9002, 9003], 'one that answers, however badly, is there')
  upstream?.failed(upstream.nodes[2]!, 'connect')
  upstream?.failed(upstream.nodes[1]!, 'connect')
  t.same(ports(upstream), [9001])
  upstream?.failed(upstream.nodes[0]!, 'connect')
  t.equal(directory.size, 0)
  t.same(closedPorts().sort(), [9001, 9002, 9003])
})

t.test('what the caller knows to be gone goes at once', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory } = open(t, registry)
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  const upstream = await found
  outage(new Error('connection refused'))
  tell({ type: 'update', service: makeService('greeter', ['127.0.0.1:9002']) })
  directory.settle(['users'])
  t.same(ports(upstream), [9002, 9001])
  directory.settle(['greeter', 'users'])
  t.same(ports(upstream), [9002])
  tell({ type: 'delete', service: makeService('greeter', []) })
  directory.settle(['greeter'])
  t.equal(directory.size, 0)
})

t.test('a node that tells it is draining and is held back gets nothing new', async (t) => {
  const { registry, answer, tell, outage } = createRemote(true)
  const { directory } = open(t, registry)
  const found = directory.find('greeter')
  answer([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  const upstream = await found
  outage(new Error('connection refused'))
  const draining = makeNode('127.0.0.1:9001', { state: 'draining' })
  const other = makeNode('127.0.0.1:9002')
  tell({ type: 'update', service: makeService('greeter', [draining, other]) })
  tell({ type: 'update', service: makeService('greeter', [other]) })
  t.same(ports(upstream), [9002, 9001])
  t.same([upstream?.pick(x)?.port, upstream?.pick(x)?.port], [9002, 9002])
})

t.test(
  'whatever happens, the nodes are those the registry tells, and those it may have forgotten',
  async () => {
    const NAMES = ['a', 'b'] as const
    const name = fc.constantFrom(...NAMES)
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('tell' as const),
        name,
        version: fc.constantFrom('v1', 'v2'),
        nodes: fc.uniqueArray(fc.integer({ min: 1, max: 4 })),
      }),
      fc.record({
        kind: fc.constant('outage' as const),
        away: fc.boolean(),
        of: fc.subarray<string | undefined>(['a', 'b', undefined]),
      }),
      fc.record({ kind: fc.constant('turn' as const), ms: fc.integer({ min: 1, max: 120_000 }) }),
      fc.record({ kind: fc.constant('refuse' as const), name, at: fc.nat(7) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        let now = 0
        const { registry, answer, tell, outage } = createRemote(true)
        const { createPool } = createPools()
        const directory = new Directory(registry, {
          upstream: () => ({ createPool, nowMs: () => now }),
          nowMs: () => now,
          unusedMs: 1e12,
        })
        const state = new Map<string, Service>()
        const away = new Set<string | undefined>()
        /** By service: ids of nodes that went missing in its outage, and until when they may be held. */
        const doubt = { a: new Map<string, number>(), b: new Map<string, number>() }
        const namedIn = (name: string): string[] =>
          [...state.values()]
            .filter((service) => service.name === name)
            .flatMap(({ nodes }) => nodes.map(({ id }) => id))
        // In use whenever it exists, as under a stream of requests.
        const look = async (name: string): Promise<Upstream | undefined> => {
          const found = directory.find(name)
          if (found instanceof Promise)
            answer([...state.values()].filter((service) => service.name === name))
          return found
        }
        try {
          for (const name of NAMES) await look(name)
          for (const step of steps) {
            if (step.kind === 'turn') {
              now += step.ms
              directory.sweep()
              for (const held of Object.values(doubt))
                for (const [id, untilMs] of held) if (untilMs <= now) held.delete(id)
            } else if (step.kind === 'outage') {
              for (const of of step.of) {
                // One that is not in use yet has nothing to lose.
                const isUsed =
                  of === undefined || doubt[of as 'a'].size > 0 || namedIn(of).length > 0
                if (step.away && isUsed) away.add(of)
                if (!step.away) away.delete(of)
              }
              outage(step.away ? new Error('away') : undefined, step.of)
            } else if (step.kind === 'refuse') {
              const upstream = await look(step.name)
              const node = upstream?.nodes[step.at]
              if (node === undefined) continue
              upstream!.failed(node, 'connect')
              doubt[step.name].delete(node.id)
            } else {
              const key = `${step.name} ${step.version}`
              const nodes = step.nodes.map((port) => ({
                ...makeNode(`127.0.0.1:${port}`),
                id: `${key} ${port}`,
              }))
              const service = makeService(step.name, nodes, step.version)
              const before = namedIn(step.name)
              const type = nodes.length === 0 ? 'delete' : state.has(key) ? 'update' : 'create'
              if (type === 'delete') state.delete(key)
              else state.set(key, service)
              const named = namedIn(step.name)
              const held = doubt[step.name]
              for (const id of named) held.delete(id)
              if (away.has(step.name))
                for (const id of before) if (!named.includes(id)) held.set(id, now + 95_000)
              tell({ type, service })
            }
            for (const name of NAMES) {
              const ids = (await look(name))?.nodes.map(({ id }) => id) ?? []
              const expected = [...namedIn(name), ...doubt[name].keys()]
              if (`${ids.sort()}` !== `${expected.sort()}`) return false
              // Forgotten, it is looked up anew: its watch is another one.
              if (ids.length === 0) away.delete(name)
            }
          }
          outage(undefined)
          now += 95_000
          directory.sweep()
          for (const name of NAMES) {
            const ids = (await look(name))?.nodes.map(({ id }) => id) ?? []
            if (`${ids.sort()}` !== `${namedIn(name).sort()}`) return false
          }
          return directory.outage === undefined
        } finally {
          directory.close()
        }
      }),
      { numRuns: 300 },
    )
  },
)

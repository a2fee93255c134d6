// The service cache during and after an outage of its registry.
import fc from 'fast-check'
import t from 'tap'
import type { Service } from '../../../core/contracts/registry.ts'
import { ServiceCache } from '../../../core/registry/service-cache.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import { TestExchange } from '../../../sdk/testing.ts'
import { createRemote, openServiceCache, ports } from '../../fixtures/directories.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'
import { connectAll, createPools, makeNode, makeService } from '../../fixtures/services.ts'

const x = new TestExchange({ path: '/greeter' })

t.test('during a registry outage, cached services stay available without limit', async (t) => {
  let now = 0
  const events: string[] = []
  const errors: string[] = []
  const { registry, respond, fail, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry, {
    nowMs: () => now,
    unusedMs: 1e12,
    onOutage: (state, { reason, durationMs }) =>
      events.push(`${state} ${reason.message} ${durationMs}`),
    onError: (service) => errors.push(service),
  })
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001'])])
  const upstream = await result
  t.equal(cache.outage, undefined)
  outage(new Error('connection refused'))
  const hour = 3_600_000
  now = 24 * hour
  cache.sweep()
  t.equal(cache.find('greeter'), upstream)
  t.same(ports(upstream), [9001])
  t.match(cache.outage, { reason: { message: 'connection refused' }, durationMs: 24 * hour })
  const other = Promise.resolve(cache.find('users'))
  fail(new Error('connection refused'))
  await t.rejects(other, { code: 503 })
  t.same(errors, [], 'the outage is reported once')
  outage(undefined)
  t.equal(cache.outage, undefined)
  cache.sweep()
  t.same(events, [
    'started connection refused 0',
    `ongoing connection refused ${24 * hour}`,
    `ended connection refused ${24 * hour}`,
  ])
})

t.test(
  'after a registry restart with no data, nodes that register again within 95 s stay in use',
  async (t) => {
    let now = 0
    const { registry, respond, notify, outage } = createRemote(true)
    const { cache, closedPorts } = openServiceCache(t, registry, {
      nowMs: () => now,
      unusedMs: 1e12,
    })
    const oneNode = makeService('greeter', ['127.0.0.1:9001'])
    const twoNodes = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
    const result = cache.find('greeter')
    respond([twoNodes])
    const upstream = await result
    outage(new Error('connection refused'))
    now = 60_000
    connectAll(upstream)
    notify({ type: 'delete', service: makeService('greeter', []) })
    outage(undefined)
    t.same(ports(upstream), [9001, 9002])
    t.equal(cache.find('greeter'), upstream)
    now += 30_000
    notify({ type: 'create', service: oneNode })
    notify({ type: 'create', service: makeService('greeter', ['127.0.0.1:9003'], 'next') })
    t.same(ports(upstream), [9001, 9002, 9003], 'a new node is used immediately')
    now += 64_999
    cache.sweep()
    t.same(closedPorts(), [])
    now += 1
    cache.sweep()
    t.same(ports(upstream), [9001, 9003], 'a node missing for 95 s is dropped')
    notify({ type: 'delete', service: makeService('greeter', []) })
    t.same(ports(upstream), [9003], 'a removal reported after the outage takes effect')
  },
)

t.test('nodes removed after an outage are dropped immediately', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry, { nowMs: () => 0 })
  const all = Array.from({ length: 40 }, (_, i) => `127.0.0.1:${9001 + i}`)
  const result = cache.find('greeter')
  respond([makeService('greeter', all)])
  const upstream = await result
  outage(new Error('connection refused'))
  notify({ type: 'update', service: makeService('greeter', all) })
  outage(undefined)
  notify({ type: 'update', service: makeService('greeter', all.slice(36)) })
  t.same(ports(upstream), [9037, 9038, 9039, 9040])
})

t.test('repeated outages of other watches retain no node of a service', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry, { nowMs: () => 0 })
  const result = [cache.find('greeter'), cache.find('users')]
  respond([makeService('greeter', ['127.0.0.1:9000'])])
  respond([makeService('users', ['127.0.0.1:8000'])])
  const [greeter] = await Promise.all(result)
  for (let port = 9001; port <= 9120; port++) {
    outage(new Error('connection refused'), ['users', undefined])
    notify({ type: 'update', service: makeService('greeter', [`127.0.0.1:${port}`]) })
    outage(undefined, ['users', undefined])
  }
  t.same(ports(greeter), [9120])
})

t.test('a retained node that the registry lists again is no longer retained', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry, { nowMs: () => 0 })
  const bothNodes = makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])
  const oneNode = makeService('greeter', ['127.0.0.1:9001'])
  const result = cache.find('greeter')
  respond([bothNodes])
  const upstream = await result
  outage(new Error('connection refused'))
  notify({ type: 'update', service: oneNode })
  outage(undefined)
  t.same(ports(upstream), [9001, 9002])
  notify({ type: 'update', service: bothNodes })
  notify({ type: 'update', service: oneNode })
  t.same(ports(upstream), [9001])
})

t.test('a retained node that rejects connections is dropped, up to the last one', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache, closedPorts } = openServiceCache(t, registry, { nowMs: () => 0 })
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002', '127.0.0.1:9003'])])
  const upstream = await result
  connectAll(upstream)
  outage(new Error('connection refused'))
  upstream?.failed(upstream.nodes[0]!, 'connect')
  t.same(ports(upstream), [9001, 9002, 9003], 'a node in the last update is only ejected')
  notify({ type: 'delete', service: makeService('greeter', []) })
  outage(undefined)
  upstream?.failed(upstream.nodes[1]!, 'gateway')
  t.same(ports(upstream), [9001, 9002, 9003], 'a node that responds with an error is retained')
  upstream?.failed(upstream.nodes[2]!, 'connect')
  upstream?.failed(upstream.nodes[1]!, 'connect')
  t.same(ports(upstream), [9001])
  upstream?.failed(upstream.nodes[0]!, 'connect')
  t.equal(cache.size, 0)
  t.same(closedPorts().sort(), [9001, 9002, 9003])
})

t.test('settle drops the retained nodes of the given services immediately', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry)
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  const upstream = await result
  outage(new Error('connection refused'))
  notify({ type: 'update', service: makeService('greeter', ['127.0.0.1:9002']) })
  cache.settle(['users'])
  t.same(ports(upstream), [9002, 9001])
  cache.settle(['greeter', 'users'])
  t.same(ports(upstream), [9002])
  notify({ type: 'delete', service: makeService('greeter', []) })
  cache.settle(['greeter'])
  t.equal(cache.size, 0)
})

t.test('a retained node that was draining gets no new requests', async (t) => {
  const { registry, respond, notify, outage } = createRemote(true)
  const { cache } = openServiceCache(t, registry)
  const result = cache.find('greeter')
  respond([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  const upstream = await result
  outage(new Error('connection refused'))
  const draining = makeNode('127.0.0.1:9001', { state: 'draining' })
  const other = makeNode('127.0.0.1:9002')
  notify({ type: 'update', service: makeService('greeter', [draining, other]) })
  notify({ type: 'update', service: makeService('greeter', [other]) })
  t.same(ports(upstream), [9002, 9001])
  t.same([upstream?.pick(x)?.port, upstream?.pick(x)?.port], [9002, 9002])
})

t.test(
  'for random events, the nodes are the reported nodes and the nodes retained for 95 s',
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
        const { registry, respond, notify, outage } = createRemote(true)
        const { createPool } = createPools()
        const cache = new ServiceCache(registry, {
          upstream: () => ({ createPool, nowMs: () => now }),
          nowMs: () => now,
          unusedMs: 1e12,
        })
        const state = new Map<string, Service>()
        const unavailable = new Set<string | undefined>()
        /**
         * For each service, the ids of nodes that went missing in an outage and the times until which they are
         * retained.
         */
        const retainedUntilMs = { a: new Map<string, number>(), b: new Map<string, number>() }
        const listNodeIds = (name: string): string[] =>
          [...state.values()]
            .filter((service) => service.name === name)
            .flatMap(({ nodes }) => nodes.map(({ id }) => id))
        // The service is in use from its creation, as under constant traffic.
        const find = async (name: string): Promise<Upstream | undefined> => {
          const result = cache.find(name)
          if (result instanceof Promise)
            respond([...state.values()].filter((service) => service.name === name))
          return result
        }
        try {
          for (const name of NAMES) await find(name)
          for (const step of steps) {
            if (step.kind === 'turn') {
              now += step.ms
              cache.sweep()
              for (const pending of Object.values(retainedUntilMs))
                for (const [id, untilMs] of pending) if (untilMs <= now) pending.delete(id)
            } else if (step.kind === 'outage') {
              for (const of of step.of) {
                // A service that is not in use yet has no nodes to retain.
                const isUsed =
                  of === undefined ||
                  retainedUntilMs[of as 'a'].size > 0 ||
                  listNodeIds(of).length > 0
                if (step.away && isUsed) unavailable.add(of)
                if (!step.away) unavailable.delete(of)
              }
              outage(step.away ? new Error('unavailable') : undefined, step.of)
            } else if (step.kind === 'refuse') {
              const upstream = await find(step.name)
              const node = upstream?.nodes[step.at]
              if (node === undefined) continue
              upstream!.failed(node, 'connect')
              retainedUntilMs[step.name].delete(node.id)
            } else {
              const key = `${step.name} ${step.version}`
              const nodes = step.nodes.map((port) => ({
                ...makeNode(`127.0.0.1:${port}`),
                id: `${key} ${port}`,
              }))
              const service = makeService(step.name, nodes, step.version)
              const before = listNodeIds(step.name)
              const type = nodes.length === 0 ? 'delete' : state.has(key) ? 'update' : 'create'
              if (type === 'delete') state.delete(key)
              else state.set(key, service)
              const nodeIds = listNodeIds(step.name)
              const pending = retainedUntilMs[step.name]
              for (const id of nodeIds) pending.delete(id)
              if (unavailable.has(step.name))
                for (const id of before) if (!nodeIds.includes(id)) pending.set(id, now + 95_000)
              notify({ type, service })
            }
            for (const name of NAMES) {
              const ids = (await find(name))?.nodes.map(({ id }) => id) ?? []
              const expected = [...listNodeIds(name), ...retainedUntilMs[name].keys()]
              if (`${ids.sort()}` !== `${expected.sort()}`) return false
              // A dropped service is looked up again with a new watch.
              if (ids.length === 0) unavailable.delete(name)
            }
          }
          outage(undefined)
          now += 95_000
          cache.sweep()
          for (const name of NAMES) {
            const ids = (await find(name))?.nodes.map(({ id }) => id) ?? []
            if (`${ids.sort()}` !== `${listNodeIds(name).sort()}`) return false
          }
          return cache.outage === undefined
        } finally {
          cache.close()
        }
      }),
      { numRuns: scaleRuns(300) },
    )
  },
)

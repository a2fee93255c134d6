import t from 'tap'
import type { Node } from '../../../core/contracts/registry.ts'
import type { Caller } from '../../../core/rpc/caller.ts'
import type { PoolAddress } from '../../../core/upstream/node/pool-address.ts'
import type { UpstreamNode } from '../../../core/upstream/node/upstream-node.ts'
import { DEFAULT_POLICIES } from '../../../core/upstream/policies/policies.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { TestExchange } from '../../../sdk/testing.ts'
import {
  connectAll,
  createPools,
  makeNode,
  makeService,
  makeUpstream,
} from '../../fixtures/services.ts'

const x = new TestExchange({ path: '/greeter' })

t.test('nodes of all versions of a service are used', async (t) => {
  const { createPool } = createPools()
  const upstream = new Upstream('greeter', { createPool })
  upstream.update([
    makeService('greeter', ['127.0.0.1:9001'], 'latest'),
    makeService('greeter', ['127.0.0.1:9002'], 'next'),
  ])
  t.same([upstream.pick(x)?.port, upstream.pick(x)?.port], [9001, 9002])
})

t.test('protocol, weight and pipeline of a node reach its pool', async (t) => {
  const { createPool } = createPools()
  const addresses: PoolAddress[] = []
  const upstream = new Upstream('greeter', {
    createPool: (address) => {
      addresses.push(address)
      return createPool(address)
    },
  })
  const metadata = { protocol: 'https', weight: '3', pipeline: '8' }
  upstream.update([makeService('greeter', [makeNode('[::1]:9001', metadata)])])
  t.same(addresses, [], 'no pool before the first request')
  t.equal(upstream.nodes[0]?.pool, upstream.nodes[0]?.pool)
  t.same(addresses, [{ host: '::1', port: 9001, secure: true, pipeline: 8 }])
  t.match(upstream.nodes[0], { id: '[::1]:9001', service: 'greeter', weight: 3, active: 0 })
})

t.test(
  'an update keeps unchanged nodes with their connections, and closes the others',
  async (t) => {
    const { pools, createPool, closedPorts } = createPools()
    const upstream = new Upstream('greeter', { createPool })
    upstream.update([
      makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002', '127.0.0.1:9003']),
    ])
    connectAll(upstream)
    const [stays, changes] = upstream.nodes as [UpstreamNode, UpstreamNode]
    stays.active = 7
    upstream.update([
      makeService('greeter', [
        makeNode('127.0.0.1:9004'),
        makeNode('127.0.0.1:9001', { region: 'an unused label' }),
        makeNode('127.0.0.1:9002', { weight: '2' }),
      ]),
    ])
    t.same(
      upstream.nodes.map(({ port }) => port),
      [9004, 9001, 9002],
    )
    t.equal(upstream.nodes[1], stays)
    t.equal(stays.active, 7)
    t.not(upstream.nodes[2], changes)
    t.same(closedPorts(), [9002, 9003])
    connectAll(upstream)
    t.equal(pools.length, 5)
  },
)

t.test('a node with a new address is a new node', async (t) => {
  const { createPool, closedPorts } = createPools()
  const upstream = new Upstream('greeter', { createPool })
  upstream.update([makeService('greeter', [{ ...makeNode('127.0.0.1:9001'), id: 'a' }])])
  connectAll(upstream)
  upstream.update([makeService('greeter', [{ ...makeNode('127.0.0.1:9002'), id: 'a' }])])
  t.same(
    upstream.nodes.map(({ port }) => port),
    [9002],
  )
  t.same(closedPorts(), [9001])
})

t.test('an ejected node is still ejected after an update', async (t) => {
  const upstream = makeUpstream([1, 1], { nowMs: () => 0 })
  upstream.failed(upstream.nodes[0]!, 'connect')
  upstream.update([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002', '127.0.0.1:9003'])])
  const ports = Array.from({ length: 4 }, () => upstream.pick(x)!.port)
  t.same(new Set(ports), new Set([9002, 9003]))
})

t.test('malformed nodes are skipped with a reason', async (t) => {
  const { createPool } = createPools()
  const skipped: string[] = []
  const upstream = new Upstream('greeter', {
    createPool,
    onSkip: ({ id }, reason) => skipped.push(`${id}: ${reason}`),
  })
  upstream.update([
    makeService('greeter', [
      makeNode('nowhere'),
      makeNode('127.0.0.1:9001', { protocol: 'ftp' }),
      makeNode('127.0.0.1:9002', { weight: 'much' }),
      makeNode('127.0.0.1:9003'),
    ]),
    makeService('greeter', ['127.0.0.1:9003'], 'next'),
  ])
  t.same(
    upstream.nodes.map(({ port }) => port),
    [9003],
  )
  t.same(skipped, [
    'nowhere: address must be host:port or [IPv6]:port with a port from 1 to 65535, got "nowhere"',
    '127.0.0.1:9001: protocol must be http, https, mx, mxs, grpc or grpcs, got "ftp"',
    '127.0.0.1:9002: weight must be a whole number from 1 to 1000, got "much"',
    '127.0.0.1:9003: node id 127.0.0.1:9003 is listed twice',
  ])
})

t.test('the reason for skipping a node is reported once', async (t) => {
  const skipped: string[] = []
  const { createPool } = createPools()
  const upstream = new Upstream('greeter', {
    createPool,
    onSkip: (_, reason) => skipped.push(reason),
  })
  const [bad, invalid] = ['0', '1001'].map((weight) => makeNode('127.0.0.1:9001', { weight }))
  const update = (...nodes: (string | Node)[]): void =>
    upstream.update([makeService('greeter', nodes)])
  for (const port of [9002, 9003, 9004]) update(bad!, `127.0.0.1:${port}`)
  t.equal(skipped.length, 1)
  update(invalid!)
  t.match(skipped[1], /got "1001"/, 'another reason is reported')
  update()
  update(invalid!)
  t.equal(skipped.length, 3, 'a node that returns is reported again')
})

t.test(
  'a refused connection is reported, and the node is not ejected if it was dropped',
  async (t) => {
    const invalidNodes: string[] = []
    const ejected: string[] = []
    let isDeleted = true
    const upstream = makeUpstream([1, 1], {
      nowMs: () => 0,
      onConnectionRefused: ({ id }) => {
        invalidNodes.push(id)
        return isDeleted
      },
      onEject: ({ id }) => ejected.push(id),
    })
    const [one, two] = upstream.nodes
    upstream.failed(one!, 'gateway')
    upstream.failed(one!, 'connect')
    t.same(invalidNodes, ['127.0.0.1:9001'])
    t.same(ejected, [])
    isDeleted = false
    upstream.failed(two!, 'connect')
    t.same(ejected, ['127.0.0.1:9002'])
    upstream.update([makeService('greeter', ['127.0.0.1:9001'])])
    upstream.failed(two!, 'connect')
    t.equal(invalidNodes.length, 2, 'a node that is no longer listed is not reported')
  },
)

t.test('pick returns undefined for a service without nodes', async (t) => {
  const upstream = makeUpstream([1])
  upstream.update([makeService('greeter', [])])
  t.equal(upstream.pick(x), undefined)
})

t.test('an ejected node returns after a successful trial', async (t) => {
  let now = 0
  const events: string[] = []
  const upstream = makeUpstream([1, 1], {
    nowMs: () => now,
    onEject: ({ port }, forMs) => events.push(`${port} ejected ${forMs}`),
    onReturn: ({ port }) => events.push(`${port} returned`),
  })
  const [unhealthy, up] = upstream.nodes as [UpstreamNode, UpstreamNode]
  upstream.failed(unhealthy, 'connect')
  const picked = (): (UpstreamNode | undefined)[] => [upstream.pick(x), upstream.pick(x)]
  t.same(picked(), [up, up])
  now = 1000
  t.same(picked(), [unhealthy, up], 'one request tries it')
  upstream.responded(unhealthy, 200, 1, { routeName: '' })
  t.same(new Set(picked()), new Set([unhealthy, up]))
  t.same(events, ['9001 ejected 1000', '9001 returned'])
})

t.test('no load-balancing algorithm picks a tried node again', async (t) => {
  for (const kind of ['round-robin', 'p2c', 'least-conn', 'ewma', 'hash', 'maglev'] as const) {
    for (let i = 0; i < 20; i++) {
      const upstream = makeUpstream([1, 1, 1, 1], { balance: { kind, sticky: {} } })
      const exchange = new TestExchange({ path: `/${i}` })
      const tried: UpstreamNode[] = []
      while (tried.length < 4) tried.push(upstream.pick(exchange, tried.at(-1), tried)!)
      t.equal(new Set(tried).size, 4, kind)
      t.equal(upstream.pick(exchange, tried.at(-1), tried), undefined)
      upstream.close()
    }
  }
})

t.test('an ejected node is preferred over a tried one', async (t) => {
  const upstream = makeUpstream([1, 1])
  const [failed, tried] = upstream.nodes as [UpstreamNode, UpstreamNode]
  upstream.failed(failed, 'connect')
  t.equal(upstream.pick(x, tried), tried)
  t.equal(upstream.pick(x, tried, [tried]), failed)
})

t.test('rebalance changes the algorithm while serving', async (t) => {
  const upstream = makeUpstream([1, 1, 1])
  const hash = { kind: 'hash', hashOf: { from: 'path', name: '' } } as const
  upstream.rebalance({ ...hash, sticky: {} })
  t.equal(upstream.pick(x), upstream.pick(x))
  t.type(upstream.replyCookie, 'function')
  upstream.rebalance()
  t.not(upstream.pick(x), upstream.pick(x))
  t.equal(upstream.replyCookie, undefined)
})

t.test('close closes the connections to all nodes', async (t) => {
  const { createPool, closedPorts } = createPools()
  const upstream = new Upstream('greeter', { createPool })
  upstream.update([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9002'])])
  connectAll(upstream)
  upstream.close()
  t.same(closedPorts(), [9001, 9002])
  t.equal(upstream.pick(x), undefined)
})

const draining = (address: string): ReturnType<typeof makeNode> =>
  makeNode(address, { state: 'draining' })
const [one, two, three] = ['127.0.0.1:9001', '127.0.0.1:9002', '127.0.0.1:9003'] as const

for (const kind of ['round-robin', 'p2c', 'least-conn', 'ewma', 'hash', 'maglev'] as const) {
  t.test(`${kind}: a draining node gets no new requests and keeps its connections`, async (t) => {
    const { createPool, pools, closedPorts } = createPools()
    const hashOf = { from: 'path', name: '' } as const
    const upstream = new Upstream('greeter', { createPool, balance: { kind, hashOf } })
    upstream.update([makeService('greeter', [one, two, three])])
    const [first] = upstream.nodes as [UpstreamNode]
    first.active = 3
    connectAll(upstream)
    upstream.update([makeService('greeter', [draining(one), two, three])])
    t.equal(upstream.nodes[0], first)
    t.equal(first.draining, true)
    t.same(closedPorts(), [])
    const picked = new Set<number | undefined>()
    for (let i = 0; i < 100; i++) {
      const exchange = new TestExchange({ path: `/${i}` })
      picked.add(upstream.pick(exchange)?.port)
      picked.add(upstream.pick(exchange, upstream.nodes[1])?.port)
    }
    t.same(picked, new Set([9002, 9003]), 'not even as a second choice')
    upstream.update([makeService('greeter', [one, two, three])])
    t.equal(upstream.nodes[0], first, 'a node that stops draining is used again')
    t.equal(pools.length, 3)
    first.active = 0
    for (let i = 0; i < 100; i++) {
      picked.add(upstream.pick(new TestExchange({ path: `/${i}` }))?.port)
    }
    t.ok(picked.has(9001))
  })
}

t.test('a sticky client of a draining node is moved to another node', async (t) => {
  const { createPool } = createPools()
  const balance = { kind: 'round-robin', sticky: { cookie: 'node' } } as const
  const upstream = new Upstream('greeter', { createPool, balance })
  upstream.update([makeService('greeter', [one, two])])
  const cookie = upstream.replyCookie!(x, upstream.nodes[0]!)!.split(';')[0]!
  const bound = new TestExchange({ path: '/', headers: { cookie } })
  t.equal(upstream.pick(bound)?.port, 9001)
  upstream.update([makeService('greeter', [draining(one), two])])
  t.equal(upstream.pick(bound)?.port, 9002)
  t.match(upstream.replyCookie!(bound, upstream.nodes[1]!), /^node=/, 'with a new cookie')
})

t.test('a draining node gets no trial after an ejection', async (t) => {
  let now = 0
  const { createPool } = createPools()
  const upstream = new Upstream('greeter', { createPool, nowMs: () => now })
  upstream.update([makeService('greeter', [one, two, three])])
  upstream.failed(upstream.nodes[0]!, 'connect')
  upstream.update([makeService('greeter', [draining(one), two, three])])
  now = 1e6
  const picked = Array.from({ length: 4 }, () => upstream.pick(x)?.port)
  t.same(new Set(picked), new Set([9002, 9003]))
})

t.test('draining nodes are used if no other node is usable', async (t) => {
  let now = 0
  const { createPool } = createPools()
  const upstream = new Upstream('greeter', { createPool, nowMs: () => now })
  const pick = (): number[] => Array.from({ length: 4 }, () => upstream.pick(x)!.port)
  upstream.update([makeService('greeter', [draining(one), draining(two)])])
  t.same(new Set(pick()), new Set([9001, 9002]))

  upstream.update([makeService('greeter', [one, two])])
  upstream.failed(upstream.nodes[0]!, 'connect')
  upstream.update([makeService('greeter', [one, draining(two)])])
  t.same(new Set(pick()), new Set([9002]), 'the other node is ejected')
  now = 30_000
  t.equal(upstream.pick(x)?.port, 9001, 'trial')
  upstream.responded(upstream.nodes[0]!, 200, 1, { routeName: '' })
  t.same(new Set(pick()), new Set([9001]), 'used again instead of the draining node')
})

t.test('a node in this process is preferred until it drains', async (t) => {
  const { createPool } = createPools()
  let localNodes = new Set(['127.0.0.1:9002'])
  const caller = { call() {}, drain() {}, close() {} } as unknown as Caller
  const findCaller = ({ id }: { id: string }) => (localNodes.has(id) ? caller : undefined)
  const upstream = new Upstream('store', { createPool, findCaller })
  const [unreachable, local, other] = [
    '127.0.0.1:9001',
    '127.0.0.1:9002',
    '127.0.0.1:9003',
  ] as const
  const picked = () => new Set(Array.from({ length: 9 }, () => upstream.pick(undefined)?.id))
  upstream.update([makeService('store', [unreachable, local, other])])
  t.same(picked(), new Set([local]))
  upstream.update([makeService('store', [unreachable, draining(local), other])])
  t.same(picked(), new Set([unreachable, other]), 'a draining local node is not used')
  localNodes = new Set()
  upstream.update([makeService('store', [unreachable, other])])
  t.same(picked(), new Set([unreachable, other]))
})

t.test('a new or returning node gets a growing share of the requests', async (t) => {
  let now = 0
  const { createPool } = createPools()
  const policies = { ...DEFAULT_POLICIES, slowStartMs: 10_000 }
  const upstream = new Upstream('greeter', { createPool, nowMs: () => now, policies })
  const share = (port: number): number =>
    Array.from({ length: 2000 }, () => upstream.pick(x)).filter((node) => node!.port === port)
      .length / 2000
  const [one, two] = [makeNode('127.0.0.1:9001'), makeNode('127.0.0.1:9002')]
  upstream.update([makeService('greeter', [one])])
  t.equal(share(9001), 1, 'the first nodes have their full share')
  upstream.update([makeService('greeter', [one, two])])
  t.ok(share(9002) < 0.13)
  now = 5000
  t.ok(share(9002) > 0.2 && share(9002) < 0.4)
  now = 10_000
  t.ok(Math.abs(share(9002) - 0.5) < 0.01)
  upstream.failed(upstream.nodes[0]!, 'connect')
  now = 40_000
  const trial = upstream.pick(x)!
  t.equal(trial.port, 9001)
  upstream.responded(trial, 200, 1, { routeName: '' })
  t.ok(share(9001) < 0.13)
})

t.test(
  'below the panic threshold, ejected nodes are used rather than too few others',
  async (t) => {
    const firstFailure = { consecutiveGatewayErrors: 1, maxEjectionPercent: 100 }
    const outlier = { ...DEFAULT_POLICIES.outlier, ...firstFailure }
    const policies = { ...DEFAULT_POLICIES, outlier }
    const upstream = makeUpstream([1, 1, 1], { nowMs: () => 0, policies })
    const [a, b, c] = upstream.nodes as [UpstreamNode, UpstreamNode, UpstreamNode]
    const picked = () => new Set(Array.from({ length: 12 }, () => upstream.pick(x)))
    upstream.failed(a, 'reset')
    t.same(picked(), new Set([b, c]))
    upstream.failed(b, 'reset')
    t.same(picked(), new Set([a, b, c]))
    upstream.failed(c, 'connect')
    t.same(picked(), new Set([a, b]), 'not the unreachable node')
  },
)

t.test('settings in the metadata apply when they change', async (t) => {
  const { createPool } = createPools()
  const received: object[] = []
  let host: 'backend' | undefined
  const upstream = new Upstream('greeter', {
    createPool,
    onSettings(metadata) {
      received.push(metadata)
      return { balance: { kind: 'random' }, host }
    },
  })
  const update = (metadata: Record<string, string>, other: Record<string, string> = {}) =>
    upstream.update([
      { ...makeService('greeter', ['127.0.0.1:9001'], 'latest'), metadata },
      { ...makeService('greeter', ['127.0.0.1:9002'], 'next'), metadata: other },
    ])
  update({ owner: 'a' })
  t.strictSame(received, [{}], 'for a new service')
  const [node] = upstream.nodes
  update({ owner: 'b', 'mx/balance': 'random' }, { 'mx/balance': 'p2c', 'mx/keep_alive': '1s' })
  const settings = { 'mx/balance': 'random', 'mx/keep_alive': '1s' }
  t.strictSame(received, [{}, settings], 'the first version takes precedence')
  t.strictSame(upstream.settings, settings)
  update({ 'mx/balance': 'random' }, { 'mx/keep_alive': '1s' })
  t.equal(received.length, 2, 'unchanged')
  t.equal(upstream.nodes[0], node, 'nodes are unchanged')
  host = 'backend'
  update({ 'mx/host_header': 'backend' })
  t.equal(upstream.host, 'backend')
  t.not(upstream.nodes[0], node, 'nodes have another host')
})

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { BalanceOptions } from '../../../../core/upstream/balance/policy.ts'
import { createRandomBits } from '../../../../core/upstream/balance/weighted.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { DEFAULT_POLICIES } from '../../../../core/upstream/policies/policies.ts'
import { TestExchange } from '../../../../sdk/testing.ts'
import { testBalancer } from '../../../contracts/balancer.ts'
import { makeUpstream } from '../../../fixtures/services.ts'

const x = new TestExchange({ path: '/greeter' })

for (const kind of ['round-robin', 'random', 'p2c', 'least-conn', 'ewma'] as const) {
  testBalancer(t, kind, { kind })
}
for (const hashOf of [
  { from: 'header', name: 'x-user' },
  { from: 'cookie', name: 'sid' },
  { from: 'ip', name: '' },
  { from: 'path', name: '' },
] as const) {
  testBalancer(t, `hash of ${hashOf.from}`, { kind: 'hash', hashOf })
}
testBalancer(t, 'maglev', { kind: 'maglev', hashOf: { from: 'path', name: '' } })
testBalancer(t, 'sticky', { kind: 'round-robin', sticky: {} })

t.test('round-robin picks the nodes in order', async (t) => {
  const upstream = makeUpstream([1, 1, 1])
  t.same(ports(upstream, 6), [9001, 9002, 9003, 9001, 9002, 9003])
})

t.test('round-robin spreads the picks of a heavy node', async (t) => {
  const upstream = makeUpstream([4, 2, 1])
  const ticks = ports(upstream, 7)
  t.equal(ticks.filter((port) => port === 9001).length, 4)
  t.equal(ticks.filter((port) => port === 9002).length, 2)
  t.notMatch(ticks.join(), '9001,9001,9001', 'never three times in a row')
})

t.test(
  'least-conn picks the node with the fewest requests in flight relative to its weight',
  async (t) => {
    const upstream = makeUpstream([1, 1, 4], { balance: { kind: 'least-conn' } })
    const [one, two, heavy] = upstream.nodes as [UpstreamNode, UpstreamNode, UpstreamNode]
    one.active = 2
    two.active = 1
    heavy.active = 8
    t.equal(upstream.pick(x), two)
    heavy.active = 3
    t.equal(upstream.pick(x), heavy, '3 of 4 is less than 1 of 1')
    t.equal(upstream.pick(x, heavy), two, 'the second-best node if the best was tried')
  },
)

t.test('least-conn keeps requests in flight proportional to the weights', async (t) => {
  const upstream = makeUpstream([1, 2, 5], { balance: { kind: 'least-conn' } })
  for (let i = 0; i < 80; i++) upstream.pick(x)!.active++
  t.same(
    upstream.nodes.map(({ active }) => active),
    [10, 20, 50],
  )
})

t.test('p2c avoids a busy node', async (t) => {
  const upstream = makeUpstream([1, 1, 1, 1], {
    balance: { kind: 'p2c' },
    randomBits: createRandomBits(7),
  })
  const busy = upstream.nodes[2]!
  busy.active = 100
  const count = (balance: BalanceOptions): number => {
    upstream.rebalance(balance)
    return ports(upstream, 1000).filter((port) => port === busy.port).length
  }
  const p2cCount = count({ kind: 'p2c' })
  const randomCount = count({ kind: 'random' })
  // The busy node is picked only if both draws select it: one request in sixteen instead of one in four.
  t.ok(p2cCount < 100, `p2c: ${p2cCount} of 1000`)
  t.ok(randomCount > 200, `random: ${randomCount} of 1000`)
})

t.test('p2c keeps nodes about equally busy', async (t) => {
  const upstream = makeUpstream([1, 1, 1, 1, 1], {
    balance: { kind: 'p2c' },
    randomBits: createRandomBits(3),
  })
  for (let i = 0; i < 1000; i++) upstream.pick(x)!.active++
  const active = upstream.nodes.map((node) => node.active)
  t.ok(Math.max(...active) - Math.min(...active) < 20, active.join(' '))
})

t.test('picking allocates no memory', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void
  const hashOf = { from: 'cookie', name: 'sid' } as const
  const policies: readonly BalanceOptions[] = [
    { kind: 'round-robin' },
    { kind: 'random' },
    { kind: 'p2c' },
    { kind: 'least-conn' },
    { kind: 'hash', hashOf },
    { kind: 'p2c', sticky: { cookie: 'sid' } },
  ]
  const exchange = new TestExchange({ headers: { cookie: 'a=b; sid=0123456789abcdef' } })
  const rounds = 20_000
  for (const balance of policies) {
    const upstream = makeUpstream([1, 2, 3], { balance })
    const measure = (): number => {
      collect({ type: 'minor' })
      const before = process.memoryUsage().heapUsed
      for (let i = 0; i < rounds; i++) upstream.pick(exchange)
      return (process.memoryUsage().heapUsed - before) / rounds
    }
    // Numbers are heap objects until the function is optimized, which takes time on a busy machine.
    let bytes = measure()
    for (let i = 0; i < 100 && bytes >= 6; i++) bytes = measure()
    const name = `${balance.kind}${balance.sticky === undefined ? '' : ' sticky'}`
    // The smallest heap object, a number, has 12 bytes.
    t.ok(bytes < 6, `${name}: ${bytes.toFixed(2)} bytes per pick`)
  }
})

function ports(upstream: ReturnType<typeof makeUpstream>, count: number): number[] {
  return Array.from({ length: count }, () => upstream.pick(x)!.port)
}

t.test('ewma prefers the faster node, and tries a node without responses once', async (t) => {
  const upstream = makeUpstream([1, 1], { balance: { kind: 'ewma' } })
  const [slow, fast] = upstream.nodes as [UpstreamNode, UpstreamNode]
  const response = (node: UpstreamNode, ms: number) =>
    upstream.responded(node, 200, ms, { routeName: '' })
  response(fast, 10)
  slow.active = 1
  for (let i = 0; i < 20; i++) t.equal(upstream.pick(x), fast, 'its first response is pending')
  slow.active = 0
  response(slow, 50)
  for (let i = 0; i < 20; i++) t.equal(upstream.pick(x), fast)
  fast.active = 9
  t.equal(upstream.pick(x), slow, 'the faster node is busy')
  fast.active = 0
  response(fast, 1000)
  t.equal(upstream.pick(x), slow, 'one slow response counts immediately')
})

t.test('ewma avoids a node whose requests fail immediately', async (t) => {
  const outlier = { ...DEFAULT_POLICIES.outlier, consecutive5xx: 0, consecutiveGatewayErrors: 0 }
  const upstream = makeUpstream([1, 1], {
    balance: { kind: 'ewma' },
    policies: { ...DEFAULT_POLICIES, outlier },
  })
  const [bad, healthy] = upstream.nodes as [UpstreamNode, UpstreamNode]
  upstream.responded(healthy, 200, 50, { routeName: '' })
  upstream.responded(bad, 500, 1, { routeName: '' })
  for (let i = 0; i < 20; i++) t.equal(upstream.pick(x), healthy)
})

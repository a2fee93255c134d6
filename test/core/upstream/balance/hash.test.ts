import fc from 'fast-check'
import t from 'tap'
import type { BalanceOptions, HashSource } from '../../../../core/upstream/balance/policy.ts'
import { TestExchange } from '../../../../sdk/testing.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { makeUpstream } from '../../../fixtures/services.ts'

const byPath: BalanceOptions = { kind: 'hash', hashOf: { from: 'path', name: '' } }
const paths = Array.from({ length: 2000 }, (_, i) => new TestExchange({ path: `/greeter/${i}` }))

t.test('a key maps to the same node in every gateway', async () => {
  fc.assert(
    fc.property(fc.webPath(), fc.integer({ min: 1, max: 8 }), (path, count) => {
      const weights = Array<number>(count).fill(1)
      const x = new TestExchange({ path: `/${path}` })
      const first = makeUpstream(weights, { balance: byPath })
      const node = first.pick(x)!
      const repeated = first.pick(x)!
      const otherGateway = makeUpstream(weights, { balance: byPath }).pick(x)!
      return node === repeated && node.port === otherGateway.port
    }),
  )
})

t.test('when a node is ejected, only its keys move', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 3, maxLength: 8 }),
      fc.nat(),
      (weights, index) => {
        const upstream = makeUpstream(weights, { balance: byPath })
        const before = paths.map((x) => upstream.pick(x))
        const removed = upstream.nodes[index % weights.length]!
        upstream.failed(removed, 'connect')
        const after = paths.map((x) => upstream.pick(x))
        return before.every((node, i) =>
          node === removed ? after[i] !== removed : after[i] === node,
        )
      },
    ),
    { numRuns: scaleRuns(20) },
  )
})

t.test('when the node returns, its keys return', async (t) => {
  let now = 0
  const upstream = makeUpstream([1, 1, 1, 1], { balance: byPath, nowMs: () => now })
  const before = paths.map((x) => upstream.pick(x))
  const [node] = upstream.nodes
  upstream.failed(node!, 'connect')
  now = 30_000
  t.equal(upstream.pick(paths[0]!), node, 'trial')
  upstream.responded(node!, 200, 1, { routeName: '' })
  t.ok(paths.every((x, i) => upstream.pick(x) === before[i]))
})

t.test('the second choice of a key is stable and spread over the other nodes', async (t) => {
  const upstream = makeUpstream([1, 1, 1, 1], { balance: byPath })
  const [tried] = upstream.nodes
  const selected = paths.filter((x) => upstream.pick(x) === tried)
  const second = selected.map((x) => upstream.pick(x, tried))
  t.ok(selected.every((x, i) => upstream.pick(x, tried) === second[i]))
  t.equal(new Set(second).size, 3)
})

t.test('requests without the key are distributed round-robin', async (t) => {
  const sources: HashSource[] = [
    { from: 'header', name: 'x-user' },
    { from: 'cookie', name: 'sid' },
    { from: 'ip', name: '' },
  ]
  const remainingNodes = [
    new TestExchange({ remoteAddress: '' }),
    new TestExchange({ remoteAddress: '', headers: { 'x-user': '', cookie: 'sid=; other=1' } }),
  ]
  for (const hashOf of sources) {
    for (const x of remainingNodes) {
      const upstream = makeUpstream([1, 1, 1], { balance: { kind: 'hash', hashOf } })
      const ports = Array.from({ length: 3 }, () => upstream.pick(x)!.port)
      t.same(ports, [9001, 9002, 9003], hashOf.from)
    }
  }
})

t.test('only the configured part of the request is hashed', async (t) => {
  const balance: BalanceOptions = { kind: 'hash', hashOf: { from: 'cookie', name: 'sid' } }
  const upstream = makeUpstream([1, 1, 1, 1, 1], { balance })
  const pick = (cookie: string, path = '/'): number =>
    upstream.pick(new TestExchange({ path, headers: { cookie } }))!.port
  for (let i = 0; i < 50; i++) {
    t.equal(pick(`sid=${i}`), pick(`xsid=9; a=sid=8;sid=${i}; b=${i * 7}`, `/${i}`), `sid=${i}`)
  }
})

t.test('keys are distributed by weight for 2 to 600 nodes', async (t) => {
  const keys = Array.from({ length: 60_000 }, (_, i) => new TestExchange({ path: `/many/${i}` }))
  for (const count of [2, 20, 600]) {
    const weights = Array.from({ length: count }, (_, i) => 1 + (i % 2))
    const upstream = makeUpstream(weights, { balance: byPath })
    const shares = new Map<unknown, number>()
    for (const x of keys) {
      const node = upstream.pick(x)!
      shares.set(node, (shares.get(node) ?? 0) + 1)
    }
    const complete = weights.reduce((sum, weight) => sum + weight, 0)
    for (const node of upstream.nodes) {
      const expected = (keys.length * node.weight) / complete
      const deviation = Math.abs((shares.get(node) ?? 0) - expected)
      // Slots and keys are both random, so their deviations add up.
      if (deviation > 5 * Math.sqrt(2 * expected))
        t.fail(`${count} nodes: ${deviation} off ${expected}`)
    }
    const first = keys.slice(0, 2000).map((x) => upstream.pick(x))
    t.ok(
      keys.slice(0, 2000).every((x, i) => upstream.pick(x) === first[i]),
      'an evicted key maps to the same node',
    )
  }
})

t.test(
  'hash balancing uses under 1 KiB per service before its first request, and under 32 KiB afterwards',
  async (t) => {
    const before = process.memoryUsage().arrayBuffers
    const upstreams = Array.from({ length: 500 }, () =>
      makeUpstream(Array<number>(20).fill(1), { balance: byPath }),
    )
    const built = process.memoryUsage().arrayBuffers - before
    t.ok(built < 500 * 1024, `${built} bytes before first use`)
    for (const upstream of upstreams) upstream.pick(paths[0]!)
    const used = process.memoryUsage().arrayBuffers - before
    t.ok(used < 500 * 32 * 1024, `${used} bytes for 500 services`)
    t.equal(upstreams.length, 500)
  },
)

t.test('calls that are not HTTP requests are distributed round-robin', async (t) => {
  for (const from of ['header', 'cookie', 'ip', 'path'] as const) {
    const upstream = makeUpstream([1, 1, 1], {
      balance: { kind: 'hash', hashOf: { from, name: 'a' } },
    })
    const picked = Array.from({ length: 6 }, () => upstream.pick(undefined))
    t.strictSame(picked, [...upstream.nodes, ...upstream.nodes], from)
  }
})

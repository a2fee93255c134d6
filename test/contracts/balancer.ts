import fc from 'fast-check'
import type { Test } from 'tap'
import type { BalanceOptions } from '../../core/upstream/balance/policy.ts'
import { createRandomBits } from '../../core/upstream/balance/weighted.ts'
import type { UpstreamNode } from '../../core/upstream/node/upstream-node.ts'
import { TestExchange } from '../../sdk/testing.ts'
import { scaleRuns } from '../fixtures/property-runs.ts'
import { makeUpstream } from '../fixtures/services.ts'

/** Requests that differ in every property that a policy may use. */
const requests = Array.from(
  { length: 8000 },
  (_, i) =>
    new TestExchange({
      path: `/greeter/${i}`,
      remoteAddress: `10.0.${i >> 8}.${i & 255}`,
      headers: { 'x-user': `user-${i}`, cookie: `sid=${i}` },
    }),
)

/** Contract of load-balancing policies. */
export function testBalancer(t: Test, name: string, balance: BalanceOptions): void {
  const weights = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 2, maxLength: 6 })

  t.test(`${name}: returns undefined without nodes`, async (t) => {
    t.equal(makeUpstream([], { balance }).pick(requests[0]!), undefined)
  })

  t.test(`${name}: picks a single node even if it was tried`, async (t) => {
    const upstream = makeUpstream([1], { balance })
    const node = upstream.nodes[0]!
    t.equal(upstream.pick(requests[0]!), node)
    t.equal(upstream.pick(requests[1]!, node), node)
  })

  t.test(`${name}: picks every node`, async (t) => {
    const upstream = makeUpstream([1, 1, 1, 1], { balance, randomBits: createRandomBits(1) })
    const picked = new Set<UpstreamNode | undefined>()
    for (let i = 0; i < 400; i++) picked.add(upstream.pick(requests[i % requests.length]!))
    t.same([...picked].map((node) => node?.port).sort(), [9001, 9002, 9003, 9004])
  })

  t.test(`${name}: distributes requests by weight`, async () => {
    fc.assert(
      fc.property(weights, fc.integer(), (weights, seed) => {
        const total = weights.reduce((sum, weight) => sum + weight)
        const upstream = makeUpstream(weights, { balance, randomBits: createRandomBits(seed) })
        const rounds = requests.length
        const counts = new Map<number, number>()
        for (let i = 0; i < rounds; i++) {
          const { port } = upstream.pick(requests[i % requests.length]!)!
          counts.set(port, (counts.get(port) ?? 0) + 1)
        }
        return weights.every((weight, i) => {
          const expected = (weight / total) * rounds
          const received = counts.get(9001 + i) ?? 0
          // Tolerance: five standard deviations of a random selection, and the rounding error of a slot table.
          return Math.abs(received - expected) < 5 * Math.sqrt(expected) + 0.05 * expected
        })
      }),
      { numRuns: scaleRuns(15) },
    )
  })

  t.test(`${name}: skips tried nodes while others remain`, async () => {
    fc.assert(
      fc.property(weights, fc.nat(), fc.integer(), (weights, index, seed) => {
        const upstream = makeUpstream(weights, { balance, randomBits: createRandomBits(seed) })
        const tried = upstream.nodes[index % weights.length]!
        for (let i = 0; i < 200; i++) {
          const node = upstream.pick(requests[i % requests.length]!, tried)
          if (node === tried || node === undefined) return false
        }
        return true
      }),
      { numRuns: scaleRuns(30) },
    )
  })

  t.test(`${name}: skips an ejected node until its ejection time ends`, async (t) => {
    const upstream = makeUpstream([3, 1, 1], {
      balance,
      randomBits: createRandomBits(2),
      nowMs: () => 0,
    })
    const [heavy] = upstream.nodes
    upstream.failed(heavy!, 'connect')
    const picked = new Set<UpstreamNode | undefined>()
    for (let i = 0; i < 200; i++) picked.add(upstream.pick(requests[i % requests.length]!))
    t.notOk(picked.has(heavy))
    t.equal(picked.size, 2)
  })
}

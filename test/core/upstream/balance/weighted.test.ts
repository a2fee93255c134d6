import fc from 'fast-check'
import t from 'tap'
import {
  buildSequence,
  createDraw,
  createRandomBits,
  pickWeighted,
} from '../../../../core/upstream/balance/weighted.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { makeUpstream } from '../../../fixtures/services.ts'

const weights = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 12 })

t.test('a round contains every node by its weight, divided by the common divisor', async (t) => {
  const count = (weights: number[]): number[] => {
    const counts = weights.map(() => 0)
    for (const index of buildSequence(makeUpstream(weights).nodes)) counts[index]!++
    return counts
  }
  t.same(count([1, 1, 1]), [1, 1, 1])
  t.same(count([500, 250, 1000]), [2, 1, 4])
  t.same(count([1000, 999, 1]), [1000, 999, 1])
})

t.test(
  'within a round a node deviates from its share by at most half a pick per node',
  async () => {
    fc.assert(
      fc.property(weights, (weights) => {
        const total = weights.reduce((sum, weight) => sum + weight)
        const counts = weights.map(() => 0)
        let picks = 0
        for (const index of buildSequence(makeUpstream(weights).nodes)) {
          counts[index]!++
          picks++
          const target = (weights[index]! / total) * picks
          if (Math.abs(counts[index]! - target) > 1 + weights.length / 2) return false
        }
        return true
      }),
      { numRuns: scaleRuns(50) },
    )
  },
)

t.test('the length of a round is limited, and every node occurs in it', async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => (i === 0 ? 1 : 997 + (i % 3)))
  const sequence = buildSequence(makeUpstream(many).nodes)
  t.ok(sequence.length < 17_000, `${sequence.length}`)
  t.equal(new Set(sequence).size, 300)
})

t.test('random draws follow the weights', async () => {
  fc.assert(
    fc.property(weights, fc.integer(), (weights, seed) => {
      const total = weights.reduce((sum, weight) => sum + weight)
      const draw = createDraw(makeUpstream(weights).nodes, createRandomBits(seed))
      const counts = weights.map(() => 0)
      const rounds = 20_000
      for (let i = 0; i < rounds; i++) counts[draw()]!++
      return weights.every((weight, i) => {
        const expected = (weight / total) * rounds
        return Math.abs(counts[i]! - expected) <= 6 * Math.sqrt(expected) + 6
      })
    }),
    { numRuns: scaleRuns(50) },
  )
})

t.test('random bits have no short cycle and no bias', async (t) => {
  const next = createRandomBits(0)
  const values = new Set<number>()
  const oneCounts = Array<number>(32).fill(0)
  for (let i = 0; i < 20_000; i++) {
    const bits = next()
    values.add(bits)
    for (let bit = 0; bit < 32; bit++) oneCounts[bit]! += (bits >>> bit) & 1
  }
  t.equal(values.size, 20_000)
  for (const count of oneCounts) t.ok(Math.abs(count - 10_000) < 500, `${count} of 20000`)
})

t.test('draws one node by its weight', async (t) => {
  const { nodes } = makeUpstream([1, 3])
  const randomBits = createRandomBits(7)
  const draws = Array.from({ length: 4000 }, () => pickWeighted(nodes, randomBits))
  const share = draws.filter((node) => node === nodes[1]).length / 4000
  t.ok(Math.abs(share - 0.75) < 0.05, `${share}`)
  t.equal(pickWeighted([], randomBits), undefined)
})

t.test('attempts on unreachable nodes do not each build a sequence', async (t) => {
  const measure = (toWeight: (i: number) => number): number => {
    const weights = Array.from({ length: 1000 }, (_, i) => toWeight(i))
    const times = Array.from({ length: 4 }, () => {
      const upstream = makeUpstream(weights)
      const tried: UpstreamNode[] = []
      const startMs = performance.now()
      for (let i = 0; i < 20; i++) {
        const node = upstream.pick(undefined, tried.at(-1), tried)!
        upstream.failed(node, 'connect')
        tried.push(node)
      }
      return performance.now() - startMs
    })
    return Math.min(...times)
  }
  const evenMs = measure(() => 1)
  const unevenMs = measure((i) => 1 + (i % 997))
  t.ok(unevenMs < 10 * evenMs, `${unevenMs} ms, with even weights ${evenMs} ms`)
})

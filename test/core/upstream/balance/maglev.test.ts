import t from 'tap'
import { TestExchange } from '../../../../sdk/testing.ts'
import { makeUpstream } from '../../../fixtures/services.ts'

const byPath = { kind: 'maglev', hashOf: { from: 'path', name: '' } } as const
const paths = Array.from({ length: 5000 }, (_, i) => new TestExchange({ path: `/${i}` }))

t.test('maps a key to the same node, with shares by weight', async (t) => {
  const upstream = makeUpstream([1, 1, 2], { balance: byPath })
  const picked = paths.map((x) => upstream.pick(x)!)
  t.ok(paths.every((x, i) => upstream.pick(x) === picked[i]))
  const shares = upstream.nodes.map(
    (node) => picked.filter((selected) => selected === node).length / 5000,
  )
  t.match(
    shares.map((share) => Math.round(share * 20)),
    [5, 5, 10],
  )
})

t.test('most keys of other nodes stay when a node leaves', async (t) => {
  const upstream = makeUpstream(Array<number>(10).fill(1), { balance: byPath })
  const before = paths.map((x) => upstream.pick(x)!)
  const [removed] = upstream.nodes
  upstream.failed(removed!, 'connect')
  const others = before.filter((node) => node !== removed)
  const unchanged = paths.filter(
    (x, i) => before[i] !== removed && upstream.pick(x) === before[i],
  ).length
  t.ok(unchanged / others.length > 0.9, `${unchanged / others.length}`)
})

t.test('the node of a failed attempt is not used again', async (t) => {
  const upstream = makeUpstream([1, 1, 1], { balance: byPath })
  for (const x of paths.slice(0, 200)) {
    const first = upstream.pick(x)!
    t.not(upstream.pick(x, first), first)
  }
})

t.test('one large weight among many nodes does not slow the table down', (t) => {
  const [x] = paths
  const build = (first: number): number => {
    const weights = [first, ...Array<number>(4000).fill(1)]
    const times = Array.from({ length: 4 }, () => {
      const upstream = makeUpstream(weights, { balance: byPath })
      const startMs = performance.now()
      upstream.pick(x)
      return performance.now() - startMs
    })
    return Math.min(...times)
  }
  const evenMs = build(1)
  const unevenMs = build(1000)
  t.ok(unevenMs < 10 * evenMs, `${unevenMs} ms, with even weights ${evenMs} ms`)
  t.end()
})

import t from 'tap'
import { selectNodes, toSubset } from '../../../../core/upstream/balance/select-nodes.ts'
import { HEALTHY, NodeFailures } from '../../../../core/upstream/node/node-failures.ts'
import type { UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { DEFAULT_POLICIES } from '../../../../core/upstream/policies/policies.ts'

function makeNodes(...zones: readonly string[]): readonly UpstreamNode[] {
  return zones.map(
    (zone, i) => ({ id: `n${i}`, zone, priority: 0, failures: HEALTHY }) as UpstreamNode,
  )
}

t.test('all nodes are used while fewer than the panic threshold are usable', async (t) => {
  const all = makeNodes('', '', '', '')
  const policies = { ...DEFAULT_POLICIES, panicThreshold: 50 }
  t.equal(selectNodes(all, all, policies), all)
  t.strictSame(selectNodes(all, all.slice(0, 2), policies), all.slice(0, 2))
  t.equal(selectNodes(all, all.slice(0, 1), policies), all)
  t.equal(selectNodes(all, [], policies), all)
  const noPanicThreshold = { ...DEFAULT_POLICIES, panicThreshold: 0 }
  t.strictSame(selectNodes(all, [], noPanicThreshold), [])
})

t.test('unreachable nodes are used only if no other is left', async (t) => {
  const all = makeNodes('', '', '', '')
  for (const node of all.slice(0, 2)) {
    node.failures = new NodeFailures()
    node.failures.isUnreachable = true
  }
  t.strictSame(selectNodes(all, all.slice(3), DEFAULT_POLICIES), all.slice(2))
  for (const node of all) node.failures = all[0]!.failures
  t.equal(selectNodes(all, [], DEFAULT_POLICIES), all)
})

t.test('uses the next priority while too few nodes of the first one are usable', async (t) => {
  const all = [0, 0, 0, 0, 1].map(
    (priority, i) => ({ id: `n${i}`, zone: '', priority, failures: HEALTHY }) as UpstreamNode,
  )
  const [first, second, , , backup] = all as [
    UpstreamNode,
    UpstreamNode,
    UpstreamNode,
    UpstreamNode,
    UpstreamNode,
  ]
  t.strictSame(selectNodes(all, all, DEFAULT_POLICIES), all.slice(0, 4))
  t.strictSame(selectNodes(all, [first, second, backup], DEFAULT_POLICIES), [first, second])
  t.strictSame(selectNodes(all, [first, backup], DEFAULT_POLICIES), [backup])
  t.strictSame(selectNodes(all, [], DEFAULT_POLICIES), all.slice(0, 4), 'none is usable')
})

t.test('nodes of the same zone are used while enough of them are usable', async (t) => {
  const all = makeNodes('a', 'a', 'b', 'b')
  const policies = { ...DEFAULT_POLICIES, zone: 'a' }
  t.strictSame(selectNodes(all, all, policies), all.slice(0, 2))
  t.strictSame(selectNodes(all, all.slice(1), policies), all.slice(1, 2))
  t.strictSame(
    selectNodes(all, all.slice(2), policies),
    all.slice(2),
    'no node of the zone is usable',
  )
  t.equal(selectNodes(all, all, { ...policies, zone: 'c' }), all, 'no node in this zone')
  t.equal(selectNodes(all, all, { ...policies, zone: '' }), all)
})

t.test('keeps the subset of a process, in which a new node replaces at most one', async (t) => {
  const all = makeNodes(...Array<string>(100).fill(''))
  const selected = toSubset(all, 10, 'me')
  t.equal(selected.length, 10)
  t.strictSame(toSubset(all.toReversed(), 10, 'me').toReversed(), selected)
  const largerSubset = toSubset([...all, { id: 'new' } as UpstreamNode], 10, 'me')
  t.ok(selected.filter((node) => largerSubset.includes(node)).length >= 9)
  const counts = new Map<string, number>()
  for (let i = 0; i < 200; i++)
    for (const { id } of toSubset(all, 10, `${i}`)) counts.set(id, (counts.get(id) ?? 0) + 1)
  t.equal(counts.size, 100, 'processes use different subsets')
  t.ok(Math.max(...counts.values()) < 60)
  t.equal(toSubset(all, 0, 'me'), all)
})

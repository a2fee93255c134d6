import t from 'tap'
import { DEFAULT_BREAKER } from '../../../../core/upstream/health/breaker.ts'
import {
  isInUse,
  mergeNodes,
  type NodeStatus,
  readNodes,
} from '../../../../core/upstream/health/node-status.ts'
import { DEFAULT_OUTLIER } from '../../../../core/upstream/health/outlier-detection.ts'
import { NO_OUTLIER } from '../../../../core/upstream/policies/parse-policies.ts'
import { DEFAULT_POLICIES } from '../../../../core/upstream/policies/policies.ts'
import { makeNode, makeService, makeUpstream } from '../../../fixtures/services.ts'

const states = (nodes: readonly NodeStatus[]): string[] => nodes.map(({ state }) => state)

t.test('reads the worst state of each node, with its counts', (t) => {
  const drained = new Set<string>()
  const policies = { ...DEFAULT_POLICIES, slowStartMs: 1000 }
  const isDrained = (id: string) => drained.has(id)
  const upstream = makeUpstream([1, 1, 1], { policies, isDrained, nowMs: () => 5000 })
  t.match(readNodes(upstream)[0], {
    ...{ domain: 'mx', service: 'greeter', id: '127.0.0.1:9001', address: '127.0.0.1:9001' },
    ...{ zone: '', state: 'usable', ejectedUntilMs: 0, active: 0, connections: 0 },
  })
  const [first, second] = upstream.nodes as [never, never]
  upstream.failed(first, 'connect')
  Object.assign(second, { isUnhealthy: true, active: 3 })
  const read = readNodes(upstream)
  t.same(states(read), ['ejected', 'unhealthy', 'usable'])
  const inMs = read[0]!.ejectedUntilMs - Date.now()
  t.ok(inMs > 500 && inMs <= 1000, String(inMs))
  t.equal(read[1]!.active, 3)
  drained.add('127.0.0.1:9001')
  t.equal(readNodes(upstream)[0]!.state, 'drained', 'even while it is ejected')
  upstream.update([
    makeService('greeter', [
      makeNode('127.0.0.1:9003', { state: 'draining' }),
      makeNode('[::1]:9004', { zone: 'eu-1' }),
    ]),
  ])
  t.match(readNodes(upstream), [
    { id: '127.0.0.1:9003', state: 'draining' },
    { address: '[::1]:9004', zone: 'eu-1', state: 'warming' },
  ])
  t.end()
})

t.test('a drained node gets no requests, not even while all other nodes are ejected', (t) => {
  const drained = new Set<string>()
  const upstream = makeUpstream([1, 1], { isDrained: (id) => drained.has(id), nowMs: () => 0 })
  const ports = () => new Set([1, 2, 3, 4].map(() => upstream.pick(undefined)?.port))
  t.same(ports(), new Set([9001, 9002]))
  drained.add('127.0.0.1:9001')
  upstream.applyDrains()
  t.same(ports(), new Set([9002]))
  upstream.failed(upstream.nodes[1]!, 'connect')
  t.same(ports(), new Set([9002]))
  t.same(upstream.others([upstream.nodes[1]!]), [], 'no retries either')
  upstream.update([makeService('greeter', ['127.0.0.1:9001', '127.0.0.1:9003'])])
  t.same(ports(), new Set([9003]), 'after a registry update')
  drained.add('127.0.0.1:9003')
  upstream.applyDrains()
  t.equal(upstream.pick(undefined), undefined)
  drained.clear()
  upstream.applyDrains()
  t.same(ports(), new Set([9001, 9003]))
  t.end()
})

t.test('merges processes: the worst state, the latest ejection, and sums', (t) => {
  const status = (changes: Partial<NodeStatus>): NodeStatus => ({
    ...{ domain: 'mx', service: 'shop', id: 'a', address: '10.0.0.1:80', zone: '' },
    ...{ state: 'usable', ejectedUntilMs: 0, active: 1, connections: 2, latencyMs: undefined },
    ...changes,
  })
  t.same(
    mergeNodes([
      [status({ latencyMs: 3 }), status({ id: 'b' })],
      [status({ state: 'ejected', ejectedUntilMs: 9, latencyMs: 5 })],
      [status({ state: 'warming', domain: 'acme' })],
    ]),
    [
      status({ state: 'ejected', ejectedUntilMs: 9, active: 2, connections: 4, latencyMs: 5 }),
      status({ id: 'b' }),
      status({ state: 'warming', domain: 'acme' }),
    ],
  )
  t.ok(isInUse('warming'))
  t.notOk(isInUse('drained'))
  t.end()
})

t.test('all nodes are open while the circuit breaker of the service is open', (t) => {
  const breaker = { ...DEFAULT_BREAKER, minRequests: 4 }
  const policies = { ...DEFAULT_POLICIES, outlier: { ...DEFAULT_OUTLIER, ...NO_OUTLIER }, breaker }
  const upstream = makeUpstream([1, 1, 1], { policies, nowMs: () => 0 })
  const [first, second] = upstream.nodes
  for (const node of [first, second, first, second]) upstream.failed(node!, 'reset')
  t.ok(upstream.openForMs > 0)
  t.same(states(readNodes(upstream)), ['open', 'open', 'open'])
  t.end()
})

import t from 'tap'
import { UpstreamNode } from '../../../core/upstream/node.ts'
import { type NodeSettings, parseNode } from '../../../core/upstream/parse-node.ts'
import { createPools, makeNode } from '../../fixtures/services.ts'

function open(protocol: string): {
  node: UpstreamNode
  ports: () => number[]
  closedPorts: () => number[]
} {
  const { pools, createPool, closedPorts } = createPools()
  const settings = parseNode(makeNode('127.0.0.1:9001', { protocol })) as NodeSettings
  const node = new UpstreamNode('greeter', 'a', settings, createPool)
  return { node, ports: () => pools.map(({ port }) => port), closedPorts }
}

t.test('a node makes its connections when they are asked for, and once', async (t) => {
  const { node, ports, closedPorts } = open('http')
  t.same(ports(), [])
  const { pool, caller } = node
  t.equal(node.pool, pool)
  t.equal(node.caller, caller)
  t.same(ports(), [9001])
  node.retire()
  t.same(closedPorts(), [9001])
})

t.test('a node of the call protocol has none for HTTP before such a request', async (t) => {
  const { node, ports } = open('mx')
  t.equal(node.caller.pending, 0)
  t.same(ports(), [])
  t.ok(node.pool)
  t.same(ports(), [9001])
})

t.test('a node that is gone makes none that stay', async (t) => {
  const { node, closedPorts } = open('http')
  node.retire()
  t.same(closedPorts(), [], 'nor any to close them')
  t.ok(node.pool)
  t.same(closedPorts(), [9001])

  const gone = open('http')
  gone.node.retire()
  let lost = ''
  const call = { onLost: (kind: string) => (lost = kind), release: () => {} }
  gone.node.caller.call(call as never)
  t.equal(lost, 'unsent')
})

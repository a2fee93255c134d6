import t from 'tap'
import type { Caller } from '../../../core/rpc/caller.ts'
import { type NodeOptions, UpstreamNode } from '../../../core/upstream/node.ts'
import { type NodeSettings, parseNode } from '../../../core/upstream/parse-node.ts'
import { createPools, makeNode } from '../../fixtures/services.ts'

function open(
  protocol: string,
  findCaller?: NodeOptions['findCaller'],
): {
  node: UpstreamNode
  ports: () => number[]
  closedPorts: () => number[]
} {
  const { pools, createPool, closedPorts } = createPools()
  const settings = parseNode(makeNode('127.0.0.1:9001', { protocol })) as NodeSettings
  const node = new UpstreamNode('greeter', 'a', settings, {
    createPool,
    ...(findCaller && { findCaller }),
  })
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

t.test(
  'a node of this process is called by the caller it has there, which outlives it',
  async (t) => {
    const told: string[] = []
    const shared: Caller = {
      pending: 0,
      call: () => told.push('call'),
      drain: () => told.push('drain'),
      close: () => told.push('close'),
    }
    const asked: string[] = []
    const find = (found: Caller | undefined) =>
      open('mx', ({ service, id }) => {
        asked.push(`${service} ${id}`)
        return found
      }).node
    const early = find(shared)
    t.equal(early.caller, shared)
    t.equal(early.caller, shared)
    early.retire()
    const late = find(shared)
    late.retire()
    t.equal(late.caller, shared)
    t.same(told, [])
    t.same(asked, ['greeter a', 'greeter a'], 'once for each node')
    const elsewhere = find(undefined)
    t.not(elsewhere.caller, shared)
    elsewhere.retire()
  },
)

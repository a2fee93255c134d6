import { createServer } from 'node:http2'
import t from 'tap'
import type { Caller } from '../../../../core/rpc/caller.ts'
import { Http2UpstreamConnection } from '../../../../core/upstream/http2/connection.ts'
import { type NodeSettings, parseNode } from '../../../../core/upstream/node/parse-node.ts'
import { type NodeOptions, UpstreamNode } from '../../../../core/upstream/node/upstream-node.ts'
import { Upstream } from '../../../../core/upstream/upstream.ts'
import { createGreeter } from '../../../fixtures/greeter.ts'
import { listen } from '../../../fixtures/listen.ts'
import { openMxService } from '../../../fixtures/mx-service.ts'
import { openRpcGateway } from '../../../fixtures/rpc-gateway.ts'
import { createPools, makeNode } from '../../../fixtures/services.ts'

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

t.test('a node creates its pool on first use, once', async (t) => {
  const { node, ports, closedPorts } = open('http')
  t.same(ports(), [])
  const { pool, caller } = node
  t.equal(node.pool, pool)
  t.equal(node.caller, caller)
  t.same(ports(), [9001])
  node.retire()
  t.same(closedPorts(), [9001])
})

t.test('a node of the call protocol has no HTTP pool before an HTTP request', async (t) => {
  const { node, ports } = open('mx')
  t.equal(node.caller.pending, 0)
  t.same(ports(), [])
  t.ok(node.pool)
  t.same(ports(), [9001])
})

t.test('a retired node closes connections that are requested later', async (t) => {
  const { node, closedPorts } = open('http')
  node.retire()
  t.same(closedPorts(), [], 'no pool is created to be closed')
  t.ok(node.pool)
  t.same(closedPorts(), [9001])

  const retired = open('http')
  retired.node.retire()
  let failure = ''
  const call = { onLost: (kind: string) => (failure = kind), release: () => {} }
  retired.node.caller.call(call as never)
  t.equal(failure, 'unsent')
})

t.test('a local node uses the shared caller of this process and does not close it', async (t) => {
  const events: string[] = []
  const shared: Caller = {
    pending: 0,
    call: () => events.push('call'),
    drain: () => events.push('drain'),
    close: () => events.push('close'),
  }
  const requests: string[] = []
  const find = (found: Caller | undefined) =>
    open('mx', ({ service, id }) => {
      requests.push(`${service} ${id}`)
      return found
    }).node
  const early = find(shared)
  t.equal(early.caller, shared)
  t.equal(early.caller, shared)
  early.retire()
  const late = find(shared)
  late.retire()
  t.equal(late.caller, shared)
  t.same(events, [])
  t.same(requests, ['greeter a', 'greeter a'], 'one lookup per node')
  const socketCaller = find(undefined)
  t.not(socketCaller.caller, shared)
  socketCaller.retire()
})

t.test('a node with a host name is connected at its resolved addresses', async (t) => {
  for (const protocol of ['mx', 'http'] as const) {
    const { entry, port } = await openMxService(t, createGreeter(), { protocol })
    const nodes = entry.nodes.map((each) => ({
      ...each,
      address: `pinned.invalid:${port}`,
      metadata: { ...each.metadata, resolved: '127.0.0.1' },
    }))
    const { origin } = await openRpcGateway(t, [{ ...entry, nodes }])
    const reply = await fetch(`${origin}/greeter/hello?name=John`)
    t.same(await reply.json(), { message: 'Hello John' }, protocol)
  }
  const server = createServer()
  const port = await listen(t, server)
  const metadata = { protocol: 'grpc', resolved: '127.0.0.1' }
  const { lookup } = new UpstreamNode(
    'greeter',
    'a',
    parseNode(makeNode(`pinned.invalid:${port}`, metadata)) as NodeSettings,
    createPools(),
  )
  const timeouts = { connectMs: 5000, replyMs: 5000, idleMs: 5000 }
  await new Promise<void>((resolve, reject) => {
    const connection = new Http2UpstreamConnection(
      { host: 'pinned.invalid', port, secure: false, lookup, timeouts, keepAliveMs: 1000 },
      {
        onReady: () => {
          connection.close()
          resolve()
        },
        onCapacity: () => {},
        onClosed: (_connection, failure) => failure && reject(new Error(failure.detail)),
        onUnsent: () => {},
      },
    )
  })
})

t.test('a node whose resolved addresses change is replaced', async (t) => {
  const upstream = new Upstream('greeter', createPools())
  const update = (resolved: string): UpstreamNode => {
    upstream.update([
      {
        ...{ name: 'greeter', version: 'latest', metadata: {}, endpoints: [] },
        nodes: [{ id: 'a', address: 'shop.test:80', metadata: { resolved } }],
      },
    ])
    return upstream.nodes[0]!
  }
  const first = update('192.0.2.7')
  t.equal(update('192.0.2.7'), first)
  t.not(update('192.0.2.7,192.0.2.8'), first)
  update('metadata.test')
  t.same(upstream.nodes, [], 'a name is not an address')
})

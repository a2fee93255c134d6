import { forwardCall } from '../../../core/rpc/proxy-call.ts'
import { ClientConnection } from '../../../core/rpc/ws/client-connection.ts'
import { ServerConnection } from '../../../core/rpc/ws/server-connection.ts'
import type { Pool } from '../../../core/upstream/pool/pool.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import type { Micro } from '../micro.ts'
import {
  BenchCall,
  LastMessage,
  packFrames,
  REPLY_BODY,
  REPLY_METADATA,
  renumberFrames,
} from './frame-parts.ts'

/** Calls per event loop tick under load. */
const CALLS = 64
const SERVICE = new BenchCall().service

const owner = { onRetired: () => {}, onUnsent: () => {}, onIdle: () => {}, onClosed: () => {} }

/** Creates a proxy with one client and one node, which forwards a message of `count` calls and their results. */
function createProxy(count: number): { pass: () => void; close: () => void } {
  const client = new ClientConnection(new LastMessage(), owner)
  const upstream = new Upstream(SERVICE, {
    createPool: () => undefined as unknown as Pool,
    findCaller: () => ({
      pending: 0,
      call: (call) => client.call(call),
      drain: () => {},
      close: () => {},
    }),
  })
  const node = { id: 'a', address: '127.0.0.1:1', metadata: { protocol: 'mx' } }
  upstream.update([
    { name: SERVICE, version: 'latest', metadata: {}, endpoints: [], nodes: [node] },
  ])
  const server = new ServerConnection((call) => forwardCall(call, () => upstream))
  server.open(new LastMessage())
  const calls = packFrames(count, (writer) => writer.call(1, 0, 10_000, new BenchCall()))
  const replies = packFrames(count, (writer) => writer.reply(1, 0, REPLY_METADATA, REPLY_BODY))
  let id = 1
  return {
    pass() {
      renumberFrames(calls, count, id)
      renumberFrames(replies, count, id)
      id += count
      server.onMessage(calls, true)
      client.onDrain()
      client.onMessage(replies, true)
      server.onDrain()
      if (server.pending > 0) throw new Error(`${server.pending} calls have no result`)
    },
    close() {
      client.close('done')
      server.close()
    },
  }
}

const alone = createProxy(1)
const packed = createProxy(CALLS)

const micro: Micro = {
  benches: {
    'single call in a message': alone.pass,
    [`${CALLS} calls per message`]: packed.pass,
  },
  // One microsecond per connection, and one for the proxy.
  budgetNs: { [`${CALLS} calls per message`]: CALLS * 3000 },
  close() {
    alone.close()
    packed.close()
  },
}

export default micro

import type { IncomingCall } from '../../../core/rpc/call.ts'
import { ClientConnection } from '../../../core/rpc/ws/client-connection.ts'
import { ServerConnection } from '../../../core/rpc/ws/server-connection.ts'
import type { Micro } from '../micro.ts'
import {
  BenchCall,
  LastMessage,
  packFrames,
  REPLY_BODY,
  REPLY_METADATA,
  renumberFrames,
} from './frame-parts.ts'

/** Longer than all benchmarks, so that no call times out. */
const TIMEOUT_MS = 3_600_000
/** A prime stride, so that pending calls are visited in pseudo-random order. */
const STRIDE = 7919

const call = packFrames(1, (writer) => writer.call(1, 0, TIMEOUT_MS, new BenchCall()))
const reply = packFrames(1, (writer) => writer.reply(1, 0, REPLY_METADATA, REPLY_BODY))
const closers: (() => void)[] = []

/** Client connection that sends a call and receives the result of a pending one. */
function createCalls(pending: number): () => void {
  const owner = { onRetired: () => {}, onUnsent: () => {}, onIdle: () => {}, onClosed: () => {} }
  const client = new ClientConnection(new LastMessage(), owner)
  closers.push(() => client.close('done'))
  let id = 0
  const send = (): number => {
    const next = new BenchCall()
    next.timeoutMs = TIMEOUT_MS
    client.call(next)
    client.onDrain()
    return ++id
  }
  const pendingCalls = Array.from({ length: pending }, send)
  let at = 0
  return () => {
    renumberFrames(reply, 1, pendingCalls[at]!)
    pendingCalls[at] = send()
    client.onMessage(reply, true)
    if (client.pending !== pending) throw new Error(`${client.pending} calls are pending`)
    at = (at + STRIDE) % pending
  }
}

/** Server connection that receives a call and sends the result of a pending one. */
function createService(pending: number): () => void {
  const pendingCalls: IncomingCall[] = []
  let at = 0
  const server = new ServerConnection((incoming) => {
    pendingCalls[at] = incoming
  })
  server.open(new LastMessage())
  closers.push(() => server.close())
  let id = 0
  const receive = (): void => {
    renumberFrames(call, 1, ++id)
    server.onMessage(call, true)
  }
  for (; at < pending; at++) receive()
  at = 0
  return () => {
    pendingCalls[at]!.reply(REPLY_METADATA, REPLY_BODY)
    receive()
    server.onDrain()
    if (server.pending !== pending) throw new Error(`${server.pending} calls are pending`)
    at = (at + STRIDE) % pending
  }
}

const micro: Micro = {
  benches: {
    'call and result, 10 pending': createCalls(10),
    'call and result, 100 000 pending': createCalls(100_000),
    'served, 10 pending': createService(10),
    'served, 100 000 pending': createService(100_000),
  },
  // Many pending calls cost more, because the garbage collector promotes them. 400 000 calls cost the same as 100 000.
  budgetNs: {
    'call and result, 10 pending': 3000,
    'call and result, 100 000 pending': 6000,
    'served, 10 pending': 3000,
    'served, 100 000 pending': 6000,
  },
  close() {
    for (const close of closers) close()
  },
}

export default micro

import { ClientConnection } from '../../../core/rpc/ws/client-connection.ts'
import { FrameReader } from '../../../core/rpc/ws/frame-reader.ts'
import { FrameWriter } from '../../../core/rpc/ws/frame-writer.ts'
import { HEADER_BYTES, PAYLOAD_MAX_BYTES } from '../../../core/rpc/ws/frames.ts'
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

/** Calls per event loop tick under load. */
const CALLS = 64

const parts = new BenchCall()
const calls = packFrames(CALLS, (writer) => writer.call(1, 0, 10_000, parts))
const replies = packFrames(CALLS, (writer) => writer.reply(1, 0, REPLY_METADATA, REPLY_BODY))
const writer = new FrameWriter(new LastMessage(), PAYLOAD_MAX_BYTES)
const reader = new FrameReader<Buffer>(
  { closed: false, onFrame: () => undefined },
  { allocate: Buffer.alloc },
)

const server = new ServerConnection((call) => call.reply(REPLY_METADATA, REPLY_BODY))
server.open(new LastMessage())
let serverId = 1

const owner = { onRetired: () => {}, onUnsent: () => {}, onIdle: () => {}, onClosed: () => {} }
const client = new ClientConnection(new LastMessage(), owner)
let clientId = 1

const micro: Micro = {
  benches: {
    'encode a CALL': () => writer.call(1, 0, 10_000, parts),
    'encode a REPLY': () => writer.reply(1, 0, REPLY_METADATA, REPLY_BODY),
    [`find ${CALLS} frames in ${calls.length - CALLS * HEADER_BYTES} bytes`]: () =>
      reader.read(calls),
    [`serve ${CALLS} calls per message`]: () => {
      renumberFrames(calls, CALLS, serverId)
      serverId += CALLS
      server.onMessage(calls, true)
      server.onDrain()
    },
    [`send ${CALLS} calls and read their results`]: () => {
      for (let i = 0; i < CALLS; i++) client.call(new BenchCall())
      client.onDrain()
      renumberFrames(replies, CALLS, clientId)
      clientId += CALLS
      client.onMessage(replies, true)
    },
  },
  // One microsecond per call on each connection.
  budgetNs: {
    [`serve ${CALLS} calls per message`]: CALLS * 1000,
    [`send ${CALLS} calls and read their results`]: CALLS * 1000,
  },
  close: () => client.close('done'),
}

export default micro

import { OutgoingCall } from '../../core/rpc/call.ts'
import { ClientConnection } from '../../core/rpc/client-connection.ts'
import type { FrameSocket } from '../../core/rpc/frame-socket.ts'
import { FrameWriter } from '../../core/rpc/frame-writer.ts'
import { HEADER_BYTES, MESSAGE_MAX_BYTES, readFrames } from '../../core/rpc/frames.ts'
import { ServerConnection } from '../../core/rpc/server-connection.ts'
import type { Micro } from './micro.ts'

/** Calls of one turn of the event loop under load. */
const CALLS = 64
const METADATA = 'user-agent: Mozilla/5.0\r\naccept: */*\r\nx-request-id: req-1f3-2a\r\n'
const REPLY_METADATA = 'content-type: application/json\r\n'
const REPLY_BODY = Buffer.from('{"message":"Hello John","id":12345,"tags":["a","b"],"ok":true}')

class Call extends OutgoingCall {
  override service = 'go.mx.api.helloworld'
  override endpoint = 'Helloworld.Call'
  override metadata: string = METADATA
  override timeoutMs = 10_000
  override body = '{"name":"John"}'
  override onReply(): void {}
  override onFail(): void {}
  override onLost(): void {}
}

/** Remembers the last message. */
class LastMessage implements FrameSocket {
  readonly bufferedBytes = 0
  last: Buffer = Buffer.alloc(0)
  send(bytes: Uint8Array): boolean {
    this.last = bytes as Buffer
    return true
  }
  close(): void {}
  terminate(): void {}
  pause(): void {}
  resume(): void {}
}

/** A message of as many frames as there are calls, of one length, in memory of its own. */
function pack(write: (writer: FrameWriter) => void): Buffer {
  const socket = new LastMessage()
  const writer = new FrameWriter(socket, MESSAGE_MAX_BYTES)
  for (let i = 0; i < CALLS; i++) write(writer)
  writer.flush()
  return Buffer.from(socket.last)
}

/** Gives the frames of a message the ids that come next, as it would arrive. */
function renumber(message: Buffer, firstId: number): void {
  const frameBytes = message.length / CALLS
  for (let i = 0; i < CALLS; i++) message.writeUInt32LE(firstId + i, i * frameBytes + 8)
}

const parts = new Call()
const calls = pack((writer) => writer.call(1, 0, 10_000, parts))
const replies = pack((writer) => writer.reply(1, 0, REPLY_METADATA, REPLY_BODY))
const writer = new FrameWriter(new LastMessage(), MESSAGE_MAX_BYTES)
const ignore = { closed: false, onFrame: () => undefined }

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
      readFrames(calls, ignore, MESSAGE_MAX_BYTES),
    [`serve ${CALLS} calls of a message`]: () => {
      renumber(calls, serverId)
      serverId += CALLS
      server.onMessage(calls, true)
      server.onDrain()
    },
    [`make ${CALLS} calls, read their replies`]: () => {
      for (let i = 0; i < CALLS; i++) client.call(new Call())
      client.onDrain()
      renumber(replies, clientId)
      clientId += CALLS
      client.onMessage(replies, true)
    },
  },
  // A microsecond a call at each end.
  budgetNs: {
    [`serve ${CALLS} calls of a message`]: CALLS * 1000,
    [`make ${CALLS} calls, read their replies`]: CALLS * 1000,
  },
  close: () => client.close('done'),
}

export default micro

import { OutgoingCall } from '../../../core/rpc/call.ts'
import type { FrameSocket } from '../../../core/rpc/ws/frame-socket.ts'
import { FrameWriter } from '../../../core/rpc/ws/frame-writer.ts'
import { PAYLOAD_MAX_BYTES } from '../../../core/rpc/ws/frames.ts'

/** Call metadata of a browser's request. */
export const METADATA = 'user-agent: Mozilla/5.0\r\naccept: */*\r\nx-request-id: req-1f3-2a\r\n'
export const REPLY_METADATA = 'content-type: application/json\r\n'
export const REPLY_BODY: Buffer = Buffer.from(
  '{"message":"Hello John","id":12345,"tags":["a","b"],"ok":true}',
)

/** A small call that ignores its result. */
export class BenchCall extends OutgoingCall {
  override service = 'go.mx.api.helloworld'
  override endpoint = 'Helloworld.Call'
  override metadata: string = METADATA
  override timeoutMs = 10_000
  override body = '{"name":"John"}'
  override onReply(): void {}
  override onFail(): void {}
  override onLost(): void {}
}

/** A socket that records the last message. */
export class LastMessage implements FrameSocket {
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

/** Creates a message of `count` frames of equal length. */
export function packFrames(count: number, write: (writer: FrameWriter) => void): Buffer {
  const socket = new LastMessage()
  const writer = new FrameWriter(socket, PAYLOAD_MAX_BYTES)
  for (let i = 0; i < count; i++) write(writer)
  writer.flush()
  return Buffer.from(socket.last)
}

/** Assigns the next ids to the `count` frames of a message. */
export function renumberFrames(message: Buffer, count: number, firstId: number): void {
  const frameBytes = message.length / count
  for (let i = 0; i < count; i++) message.writeUInt32LE(firstId + i, i * frameBytes + 8)
}

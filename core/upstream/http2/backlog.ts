import type { ClientHttp2Stream } from 'node:http2'

/** Most bytes handed to node:http2 at a time. It reports that a batch was sent, not how much of it: a small one shows progress. */
const BATCH_BYTES = 64 * 1024

/** Whether a stream takes `bytes` more without a {@link StreamBacklog}. */
export function hasRoom({ writableLength }: ClientHttp2Stream, bytes: number): boolean {
  return writableLength + bytes <= BATCH_BYTES
}

/** Request bytes that wait for an HTTP/2 stream to send those before them. */
export class StreamBacklog {
  /** Bytes that wait. */
  bytes = 0
  #pieces: Uint8Array[] = []
  #hasEnd = false

  /** Adds bytes behind the others; `last`: they end the request. */
  add(bytes: Uint8Array, last: boolean): void {
    if (bytes.length > 0) this.#pieces.push(bytes)
    this.bytes += bytes.length
    this.#hasEnd = last
  }

  /** Hands the stream its next batch, at once and at each of its `drain` events. */
  send(stream: ClientHttp2Stream): void {
    const pieces = this.#pieces
    // Less than what the stream buffers before it asks to wait, no `drain` would follow.
    let room = Math.max(BATCH_BYTES, stream.writableHighWaterMark) - stream.writableLength
    stream.cork()
    while (room > 0 && pieces.length > 0) {
      const piece = pieces[0]!
      stream.write(piece.subarray(0, room))
      this.bytes -= Math.min(room, piece.length)
      if (piece.length > room) pieces[0] = piece.subarray(room)
      else pieces.shift()
      room -= piece.length
    }
    if (this.#hasEnd && pieces.length === 0) stream.end()
    // Also after `end`, which does it itself.
    stream.uncork()
  }
}

import type { ClientHttp2Stream } from 'node:http2'

/**
 * Maximum bytes passed to node:http2 at a time. It only reports complete batches as sent, so that small batches show
 * progress.
 */
const BATCH_BYTES = 64 * 1024

/** True if a stream accepts `bytes` more bytes without a {@link StreamBacklog}. */
export function hasRoom({ writableLength }: ClientHttp2Stream, bytes: number): boolean {
  return writableLength + bytes <= BATCH_BYTES
}

/** Request bytes queued for an HTTP/2 stream. */
export class StreamBacklog {
  bytes = 0
  #pieces: Uint8Array[] = []
  #hasEnd = false

  /** Queues bytes. @param last whether they end the request. */
  add(bytes: Uint8Array, last: boolean): void {
    if (bytes.length > 0) this.#pieces.push(bytes)
    this.bytes += bytes.length
    this.#hasEnd = last
  }

  /** Passes the next batch to the stream. Must be called again on each `drain`. */
  send(stream: ClientHttp2Stream): void {
    const pieces = this.#pieces
    // Below the high-water mark, no `drain` would follow.
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
    // Required even if `end` was called, which uncorks the stream itself.
    stream.uncork()
  }
}

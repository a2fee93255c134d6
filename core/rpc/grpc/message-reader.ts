import { ByteBuffer } from '../../../lib/io/byte-buffer.ts'

/** Flags and length before each message (gRPC over HTTP/2, Length-Prefixed-Message; Connect, Enveloped-Message). */
const PREFIX_BYTES = 5

/**
 * A message, valid during the call only.
 *
 * @param flags 0; 1: compressed; others are the protocol's own.
 */
export type OnMessage = (flags: number, message: Uint8Array) => void

/** Takes messages out of a stream of bytes, however it is cut into pieces. One that lies whole in a piece is not copied. */
export class MessageReader {
  readonly #maxBytes: number
  readonly #onMessage: OnMessage
  /** The beginning of a message, prefix included. */
  readonly #partial = new ByteBuffer()
  /** Bytes of the message that has begun, prefix included; 0: not known yet. */
  #wanted = 0

  /** @param maxBytes longest message, without its prefix. */
  constructor(maxBytes: number, onMessage: OnMessage) {
    this.#maxBytes = maxBytes
    this.#onMessage = onMessage
  }

  /** Bytes of a message that is not complete. */
  get waitingBytes(): number {
    return this.#partial.length
  }

  /** Reads a piece. @returns length of a message that is too long, which ends the stream; 0: none is. */
  read(chunk: Uint8Array): number {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#partial.length === 0) {
        const length = readLength(rest)
        if (length > this.#maxBytes) return length
        if (length >= 0 && PREFIX_BYTES + length <= rest.length) {
          const end = PREFIX_BYTES + length
          this.#onMessage(rest[0]!, rest.subarray(PREFIX_BYTES, end))
          rest = rest.subarray(end)
          continue
        }
        this.#wanted = length < 0 ? 0 : PREFIX_BYTES + length
        this.#partial.append(rest)
        return 0
      }
      const missing = (this.#wanted || PREFIX_BYTES) - this.#partial.length
      this.#partial.append(rest.subarray(0, missing))
      rest = rest.subarray(missing)
      const tooLong = this.#complete()
      if (tooLong > 0) return tooLong
    }
    return 0
  }

  /** Hands the message over if it is complete. */
  #complete(): number {
    const { bytes } = this.#partial
    if (this.#wanted === 0) {
      const length = readLength(bytes)
      if (length > this.#maxBytes) return length
      if (length < 0) return 0
      this.#wanted = PREFIX_BYTES + length
    }
    if (bytes.length < this.#wanted) return 0
    this.#wanted = 0
    this.#partial.clear()
    // Cleared, its memory stays as it is until something is appended: nothing is during the call.
    this.#onMessage(bytes[0]!, bytes.subarray(PREFIX_BYTES))
    return 0
  }
}

/** Length of the message that `bytes` begin with; -1: not known yet. */
function readLength(bytes: Uint8Array): number {
  if (bytes.length < PREFIX_BYTES) return -1
  return new DataView(bytes.buffer, bytes.byteOffset, PREFIX_BYTES).getUint32(1)
}

/** A message behind its prefix, in memory of its own. */
export function frameMessage(message: Uint8Array, flags = 0): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  framed[0] = flags
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, PREFIX_BYTES)
  return framed
}

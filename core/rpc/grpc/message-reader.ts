import { ByteBuffer } from '../../../lib/io/byte-buffer.ts'

/**
 * Size of the flags and length before each message (gRPC over HTTP/2, Length-Prefixed-Message; Connect,
 * Enveloped-Message).
 */
const PREFIX_BYTES = 5

/**
 * Receives a message, which is only valid during the call.
 *
 * @param flags 1 if compressed, otherwise 0; other bits are protocol-specific.
 */
export type OnMessage = (flags: number, message: Uint8Array) => void

/** Splits a byte stream into messages. A message within one chunk is not copied. */
export class MessageReader {
  readonly #maxBytes: number
  readonly #onMessage: OnMessage
  /** An incomplete message, including its prefix. */
  readonly #partial = new ByteBuffer()
  /** Length of the incomplete message, including its prefix; 0 if unknown. */
  #messageBytes = 0

  /** @param maxBytes maximum message size without its prefix. */
  constructor(maxBytes: number, onMessage: OnMessage) {
    this.#maxBytes = maxBytes
    this.#onMessage = onMessage
  }

  /** Number of buffered bytes of an incomplete message. */
  get waitingBytes(): number {
    return this.#partial.length
  }

  /** Reads a chunk. @returns the length of a message that exceeds the limit, which ends the stream; 0 if none. */
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
        this.#messageBytes = length < 0 ? 0 : PREFIX_BYTES + length
        this.#partial.append(rest)
        return 0
      }
      const missing = (this.#messageBytes || PREFIX_BYTES) - this.#partial.length
      this.#partial.append(rest.subarray(0, missing))
      rest = rest.subarray(missing)
      const tooLong = this.#complete()
      if (tooLong > 0) return tooLong
    }
    return 0
  }

  /** Delivers the message if it is complete. */
  #complete(): number {
    const { bytes } = this.#partial
    if (this.#messageBytes === 0) {
      const length = readLength(bytes)
      if (length > this.#maxBytes) return length
      if (length < 0) return 0
      this.#messageBytes = PREFIX_BYTES + length
    }
    if (bytes.length < this.#messageBytes) return 0
    this.#messageBytes = 0
    this.#partial.clear()
    // The cleared memory stays valid until the next append, which cannot happen during the call.
    this.#onMessage(bytes[0]!, bytes.subarray(PREFIX_BYTES))
    return 0
  }
}

/** Length of the message at the start of `bytes`; -1 if unknown. */
function readLength(bytes: Uint8Array): number {
  if (bytes.length < PREFIX_BYTES) return -1
  return new DataView(bytes.buffer, bytes.byteOffset, PREFIX_BYTES).getUint32(1)
}

/** Copies a message behind its prefix. */
export function frameMessage(message: Uint8Array, flags = 0): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  framed[0] = flags
  framed.writeUInt32BE(message.length, 1)
  framed.set(message, PREFIX_BYTES)
  return framed
}

import { PROTOCOL_ERROR, TOO_BIG } from './close-codes.ts'

/** Maximum frame header size: two bytes, eight for the length, four for the mask (RFC 6455 §5.2). */
const HEADER_MAX_BYTES = 14
const FIN = 0x80
/** Opcode bit of control frames, and the close opcode. */
const CONTROL = 0x08
const CLOSE = 0x08
/** Maximum payload of control frames (RFC 6455 §5.5). */
const CONTROL_MAX_BYTES = 125

/**
 * Parses the frame headers in one direction of a WebSocket without changing it. Tracks frame boundaries and the length
 * of messages, including all fragments (RFC 6455 §5.2, §5.4).
 */
export class FrameMeter {
  /** Payload bytes of all messages so far, without frame headers and control frames. */
  bytes = 0
  /** Whether a close frame has started. */
  closed = false
  /** Maximum size of accepted messages, in bytes. */
  messageMaxBytes: number = Number.POSITIVE_INFINITY
  readonly #masked: boolean
  readonly #header = new Uint8Array(HEADER_MAX_BYTES)
  #headerBytes = 0
  #payloadLeft = 0
  /** Whether the current frame is a control frame. */
  #control = false
  #messageBytes = 0

  /** Whether the next byte starts a frame, the only position where another frame may be inserted. */
  get atBoundary(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0
  }

  /** @param masked whether frames must be masked, as is required for client frames (RFC 6455 §5.1). */
  constructor(masked: boolean) {
    this.#masked = masked
  }

  /** Parses the next bytes. Returns 0, or the close code if they must not be forwarded. */
  feed(chunk: Uint8Array): 0 | typeof PROTOCOL_ERROR | typeof TOO_BIG {
    let i = 0
    while (i < chunk.length) {
      if (this.#payloadLeft > 0) {
        const step = Math.min(this.#payloadLeft, chunk.length - i)
        this.#payloadLeft -= step
        if (!this.#control) this.bytes += step
        i += step
        continue
      }
      this.#header[this.#headerBytes++] = chunk[i++]!
      if (this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength()) {
        this.#headerBytes = 0
        const closeCode = this.#beginFrame()
        if (closeCode !== 0) return closeCode
      }
    }
    return 0
  }

  #headerLength(): number {
    const second = this.#header[1]!
    const length = second & 0x7f
    const extended = length === 126 ? 2 : length === 127 ? 8 : 0
    return 2 + extended + (second & 0x80 ? 4 : 0)
  }

  #beginFrame(): 0 | typeof PROTOCOL_ERROR | typeof TOO_BIG {
    const header = this.#header
    const opcode = header[0]! & 0x0f
    if (((header[1]! & 0x80) !== 0) !== this.#masked) return PROTOCOL_ERROR
    let length = header[1]! & 0x7f
    if (length === 126) length = header[2]! * 256 + header[3]!
    else if (length === 127) {
      // As a float, which is exact up to 2^53; longer messages are rejected anyway.
      length = 0
      for (let i = 2; i < 10; i++) length = length * 256 + header[i]!
    }
    this.#payloadLeft = length
    this.#control = (opcode & CONTROL) !== 0
    if (opcode === CLOSE) this.closed = true
    // Control frames may occur between the fragments of a message and are not part of it.
    if (this.#control) return length <= CONTROL_MAX_BYTES ? 0 : PROTOCOL_ERROR
    this.#messageBytes += length
    if (this.#messageBytes > this.messageMaxBytes) return TOO_BIG
    if ((header[0]! & FIN) !== 0) this.#messageBytes = 0
    return 0
  }
}

/** Creates an unmasked close frame, as sent by servers (RFC 6455 §5.5.1). */
export function toCloseFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123)
  return Buffer.concat([Buffer.from([0x88, 2 + text.length, code >> 8, code & 0xff]), text])
}

/** Longest frame header: two bytes, eight of length, four of mask (RFC 6455 §5.2). */
const HEADER_MAX_BYTES = 14

/**
 * Follows one direction of a WebSocket without touching it: where frames begin,
 * and how long messages are, fragments added up (RFC 6455 §5.2, §5.4).
 */
export class FrameMeter {
  /** All bytes followed so far. */
  bytes = 0
  /** Longest message accepted, in bytes. */
  messageMaxBytes: number = Number.POSITIVE_INFINITY
  readonly #header = new Uint8Array(HEADER_MAX_BYTES)
  #headerBytes = 0
  #payloadLeft = 0
  #messageBytes = 0

  /** Whether the next byte begins a frame: only here may another frame be put in. */
  get atBoundary(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0
  }

  /** Takes the next bytes. False once a message is longer than allowed. */
  feed(chunk: Uint8Array): boolean {
    this.bytes += chunk.length
    let i = 0
    while (i < chunk.length) {
      if (this.#payloadLeft > 0) {
        const step = Math.min(this.#payloadLeft, chunk.length - i)
        this.#payloadLeft -= step
        i += step
        continue
      }
      this.#header[this.#headerBytes++] = chunk[i++]!
      if (this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength()) {
        this.#headerBytes = 0
        if (!this.#beginFrame()) return false
      }
    }
    return true
  }

  #headerLength(): number {
    const second = this.#header[1]!
    const length = second & 0x7f
    const extended = length === 126 ? 2 : length === 127 ? 8 : 0
    return 2 + extended + (second & 0x80 ? 4 : 0)
  }

  #beginFrame(): boolean {
    const header = this.#header
    let length = header[1]! & 0x7f
    if (length === 126) length = header[2]! * 256 + header[3]!
    else if (length === 127) {
      // As a float: exact up to 2^53, and anything beyond is too long anyway.
      length = 0
      for (let i = 2; i < 10; i++) length = length * 256 + header[i]!
    }
    this.#payloadLeft = length
    // Control frames may come between the fragments of a message and are no part of it.
    if ((header[0]! & 0x08) !== 0) return length <= this.messageMaxBytes
    this.#messageBytes += length
    if (this.#messageBytes > this.messageMaxBytes) return false
    if ((header[0]! & 0x80) !== 0) this.#messageBytes = 0
    return true
  }
}

/** An unmasked close frame, as servers send it (RFC 6455 §5.5.1). */
export function toCloseFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 123)
  return Buffer.concat([Buffer.from([0x88, 2 + text.length, code >> 8, code & 0xff]), text])
}

const WRONG = /[^A-Za-z0-9+/=]/
/** Characters that encode three bytes. */
const GROUP = 4

/** Decodes base64 in pieces, where each piece or message may be padded (gRPC-Web, text format). */
export class Base64Reader {
  #rest = ''

  /** True if the input so far decodes to complete bytes. */
  get isWhole(): boolean {
    return this.#rest === ''
  }

  /** @returns the bytes that are complete; undefined: invalid base64. */
  read(chunk: Uint8Array): Buffer | undefined {
    const text =
      this.#rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
    if (WRONG.test(text)) return undefined
    const whole = text.length - (text.length % GROUP)
    this.#rest = text.slice(whole)
    if (!text.includes('=')) return Buffer.from(text.slice(0, whole), 'base64')
    const pieces: Buffer[] = []
    // Padding ends a piece; another may follow.
    for (let from = 0; from < whole; ) {
      const pad = text.indexOf('=', from)
      const to = pad < 0 || pad >= whole ? whole : pad - (pad % GROUP) + GROUP
      pieces.push(Buffer.from(text.slice(from, to), 'base64'))
      from = to
    }
    return Buffer.concat(pieces)
  }
}

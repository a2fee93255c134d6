const WRONG = /[^A-Za-z0-9+/=]/
/** Number of characters that encode three bytes. */
const GROUP = 4

/** Decodes base64 in pieces. Each piece or message may be padded (gRPC-Web, text format). */
export class Base64Reader {
  #rest = ''

  /** True if the input so far decodes to complete bytes. */
  get isComplete(): boolean {
    return this.#rest === ''
  }

  /** @returns the complete bytes, or undefined for invalid base64. */
  read(chunk: Uint8Array): Buffer | undefined {
    const text =
      this.#rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
    if (WRONG.test(text)) return undefined
    const complete = text.length - (text.length % GROUP)
    this.#rest = text.slice(complete)
    if (!text.includes('=')) return Buffer.from(text.slice(0, complete), 'base64')
    const pieces: Buffer[] = []
    // Padding ends a piece, and another piece may follow.
    for (let from = 0; from < complete; ) {
      const pad = text.indexOf('=', from)
      const to = pad < 0 || pad >= complete ? complete : pad - (pad % GROUP) + GROUP
      pieces.push(Buffer.from(text.slice(from, to), 'base64'))
      from = to
    }
    return Buffer.concat(pieces)
  }
}

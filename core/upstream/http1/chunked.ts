/** Maximum bytes of a chunk-size line or a trailer line, including its line break. */
const LINE_MAX_BYTES = 8 * 1024
/** Maximum total bytes of trailer lines. */
const TRAILER_MAX_BYTES = 32 * 1024
/** RFC 9112 §7.1: size and extensions. Whitespace before an extension is invalid but common. */
const SIZE_LINE = /^[0-9A-Fa-f]{1,13}(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/
const TRAILER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/

const SIZE = 0
const DATA = 1
const DATA_END = 2
const TRAILER = 3

/**
 * Strict decoder for a chunked body (RFC 9112 §7.1): CRLF line breaks, hexadecimal sizes, CRLF after every chunk.
 * Trailers are validated and dropped.
 */
export class ChunkedDecoder {
  #state = SIZE
  /** Remaining bytes in the current chunk. */
  #remaining = 0
  /** Start of an incomplete line. */
  #line = ''
  #trailerBytes = 0

  /**
   * Decodes the bytes of a read.
   *
   * @param onData receives chunks of the body, only valid during the call.
   * @returns the offset after the body; -1 if incomplete; or a string with the reason why the body is malformed.
   */
  decode(
    bytes: Buffer,
    from: number,
    to: number,
    onData: (chunk: Uint8Array) => void,
  ): number | string {
    let at = from
    while (at < to) {
      if (this.#state === DATA) {
        const stop = Math.min(to, at + this.#remaining)
        onData(bytes.subarray(at, stop))
        this.#remaining -= stop - at
        at = stop
        if (this.#remaining === 0) this.#state = DATA_END
        continue
      }
      const feed = bytes.indexOf(10, at)
      const stop = feed < 0 || feed >= to ? to : feed + 1
      this.#line += bytes.toString('latin1', at, stop)
      at = stop
      if (this.#line.length > LINE_MAX_BYTES) return 'line of a chunked body is too long'
      if (!this.#line.endsWith('\n')) {
        // Detected now because the line may never end.
        if (this.#state === DATA_END && this.#line !== '\r') return 'chunk must end in CRLF'
        break
      }
      const line = this.#line
      this.#line = ''
      if (!line.endsWith('\r\n')) return 'line of a chunked body must end in CRLF'
      const fault = this.#takeLine(line.slice(0, -2))
      if (fault === END) return at
      if (fault !== undefined) return fault
    }
    return -1
  }

  #takeLine(line: string): string | undefined {
    switch (this.#state) {
      case SIZE:
        if (!SIZE_LINE.test(line)) return 'chunk size must be hexadecimal'
        this.#remaining = Number.parseInt(line, 16)
        this.#state = this.#remaining === 0 ? TRAILER : DATA
        return undefined
      case DATA_END:
        if (line !== '') return 'chunk must end in CRLF'
        this.#state = SIZE
        return undefined
      default:
        if (line === '') return END
        this.#trailerBytes += line.length
        if (this.#trailerBytes > TRAILER_MAX_BYTES) return 'trailers are too long'
        return TRAILER_LINE.test(line) ? undefined : 'trailer must be name: value'
    }
  }
}

/** Internal result after the last line. */
const END = 'end'

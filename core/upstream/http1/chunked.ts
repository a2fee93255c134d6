/** Most bytes of a chunk-size line or a trailer line, its line end included. */
const LINE_MAX_BYTES = 8 * 1024
/** Most bytes of all trailer lines. */
const TRAILER_MAX_BYTES = 32 * 1024
/** RFC 9112 §7.1: size and extensions; blanks before an extension are bad but common white space. */
const SIZE_LINE = /^[0-9A-Fa-f]{1,13}(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/
const TRAILER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/

const SIZE = 0
const DATA = 1
const DATA_END = 2
const TRAILER = 3

/**
 * Takes a chunked body apart (RFC 9112 §7.1), strictly: CRLF line ends, hex sizes,
 * CRLF behind every chunk. Trailers are checked and dropped.
 */
export class ChunkedDecoder {
  #state = SIZE
  /** Bytes of the current chunk still to come. */
  #left = 0
  /** The beginning of a line whose end has not come yet. */
  #line = ''
  #trailerBytes = 0

  /**
   * Decodes what one read brought.
   *
   * @param onData gets the pieces of the body, valid during the call only.
   * @returns offset behind the end of the body; -1 when more must come; a text that says what is malformed.
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
        const stop = Math.min(to, at + this.#left)
        onData(bytes.subarray(at, stop))
        this.#left -= stop - at
        at = stop
        if (this.#left === 0) this.#state = DATA_END
        continue
      }
      const feed = bytes.indexOf(10, at)
      const stop = feed < 0 || feed >= to ? to : feed + 1
      this.#line += bytes.toString('latin1', at, stop)
      at = stop
      if (this.#line.length > LINE_MAX_BYTES) return 'line of a chunked body is too long'
      if (!this.#line.endsWith('\n')) {
        // Told apart now rather than at the end of a line that may never come.
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
        this.#left = Number.parseInt(line, 16)
        this.#state = this.#left === 0 ? TRAILER : DATA
        return undefined
      case DATA_END:
        if (line !== '') return 'chunk must end in CRLF'
        this.#state = SIZE
        return undefined
      default:
        if (line === '') return END
        this.#trailerBytes += line.length
        if (this.#trailerBytes > TRAILER_MAX_BYTES) return 'trailers are too long'
        return TRAILER_LINE.test(line) ? undefined : 'trailer must be a name and a value'
    }
  }
}

/** What {@link ChunkedDecoder} says to itself behind the last line. */
const END = 'end'

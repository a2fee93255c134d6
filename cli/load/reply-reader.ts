/** Size limit of a response head, and of a line in a chunked body. */
const HEAD_MAX_BYTES = 64 * 1024
const LINE_MAX_BYTES = 4 * 1024

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r\n]*)?$/
const CHUNK_SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i

type State =
  | 'head'
  | 'length'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailer'
  | 'until-close'

/**
 * Result of {@link ReplyReader.read}: `more` if more bytes are needed, `done` if the response is complete, `malformed`
 * if it violates RFC 9112.
 */
export type ReadResult = 'more' | 'done' | 'malformed'

/**
 * Parses the HTTP/1.1 responses of one connection and discards their bodies.
 *
 * Deliberately independent of the gateway's upstream client, whose bugs it could not detect otherwise.
 */
export class ReplyReader {
  status = 0
  /** True if the connection can be reused for another request. */
  keepAlive = true
  /** Value of the `Server-Timing` header; empty if missing. */
  serverTiming = ''
  readonly #isBodyless: boolean
  #state: State = 'head'
  #text = ''
  #remaining = 0

  /** @param isBodyless true for responses to `HEAD`, which declare a body but send none */
  constructor(isBodyless: boolean) {
    this.#isBodyless = isBodyless
  }

  /** Prepares for the next response. */
  reset(): void {
    this.status = 0
    this.keepAlive = true
    this.serverTiming = ''
    this.#state = 'head'
    this.#text = ''
    this.#remaining = 0
  }

  /**
   * Parses the next bytes; `chunk` is not retained. Bytes after the response are malformed, because only one request is
   * in flight.
   */
  read(chunk: Buffer): ReadResult {
    let at = 0
    for (;;) {
      switch (this.#state) {
        case 'head': {
          const next = this.#readHead(chunk, at)
          if (next < 0) return next === -1 ? 'more' : 'malformed'
          at = next
          break
        }
        case 'length':
        case 'chunk-data': {
          const size = Math.min(this.#remaining, chunk.length - at)
          this.#remaining -= size
          at += size
          if (this.#remaining > 0) return 'more'
          if (this.#state === 'length') return at === chunk.length ? 'done' : 'malformed'
          this.#state = 'chunk-end'
          break
        }
        case 'until-close':
          return 'more'
        default: {
          const end = chunk.indexOf(10, at)
          this.#text += chunk.toString('latin1', at, end < 0 ? chunk.length : end)
          if (this.#text.length > LINE_MAX_BYTES) return 'malformed'
          if (end < 0) return 'more'
          at = end + 1
          const result = this.#readLine()
          if (result === 'done') return at === chunk.length ? 'done' : 'malformed'
          if (result === 'malformed') return result
        }
      }
    }
  }

  /**
   * Result when the connection ends. For a response without a length, the end of the connection completes it (RFC 9112
   * §6.3, rule 8).
   */
  end(): ReadResult {
    return this.#state === 'until-close' ? 'done' : 'malformed'
  }

  /** Offset after the head; -1 if more bytes are needed; -2 if it is malformed. */
  #readHead(chunk: Buffer, at: number): number {
    const before = this.#text.length
    let head: string
    let next: number
    if (before === 0) {
      const end = chunk.indexOf('\r\n\r\n', at, 'latin1')
      if (end < 0) {
        this.#text = chunk.toString('latin1', at)
        return this.#text.length > HEAD_MAX_BYTES ? -2 : -1
      }
      head = chunk.toString('latin1', at, end)
      next = end + 4
    } else {
      const text = this.#text + chunk.toString('latin1', at)
      const end = text.indexOf('\r\n\r\n', Math.max(0, before - 3))
      if (end < 0) {
        this.#text = text
        return text.length > HEAD_MAX_BYTES ? -2 : -1
      }
      head = text.slice(0, end)
      next = at + end + 4 - before
    }
    this.#text = ''
    return this.#parseHead(head) ? next : -2
  }

  #parseHead(head: string): boolean {
    const lines = head.split('\r\n')
    const match = STATUS_LINE.exec(lines[0]!)
    if (match === null) return false
    this.status = Number(match[2])
    this.keepAlive = match[1] === '1'
    let length = -1
    let chunked = false
    for (let i = 1; i < lines.length; i++) {
      const line = lines[i]!
      const colon = line.indexOf(':')
      if (colon <= 0) return false
      const name = line.slice(0, colon).toLowerCase()
      const value = line.slice(colon + 1).trim()
      if (name === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (length >= 0 && length !== Number(value))) return false
        length = Number(value)
      } else if (name === 'transfer-encoding') {
        if (value.toLowerCase() !== 'chunked' || chunked) return false
        chunked = true
      } else if (name === 'connection') {
        if (/\bclose\b/i.test(value)) this.keepAlive = false
        else if (/\bkeep-alive\b/i.test(value)) this.keepAlive = true
      } else if (name === 'server-timing') this.serverTiming = value
    }
    // Requests never contain `Upgrade`.
    if (this.status === 101 || (chunked && length >= 0)) return false
    if (this.status < 200) return true
    if (this.#isBodyless || this.status === 204 || this.status === 304) length = 0
    else if (chunked) {
      this.#state = 'chunk-size'
      return true
    }
    this.#remaining = Math.max(0, length)
    this.#state = length < 0 ? 'until-close' : 'length'
    if (length < 0) this.keepAlive = false
    return true
  }

  #readLine(): ReadResult {
    const text = this.#text
    this.#text = ''
    if (!text.endsWith('\r')) return 'malformed'
    const line = text.slice(0, -1)
    if (this.#state === 'trailer') return line === '' ? 'done' : 'more'
    if (this.#state === 'chunk-end') {
      this.#state = 'chunk-size'
      return line === '' ? 'more' : 'malformed'
    }
    const match = CHUNK_SIZE.exec(line)
    if (match === null) return 'malformed'
    this.#remaining = Number.parseInt(match[1]!, 16)
    this.#state = this.#remaining === 0 ? 'trailer' : 'chunk-data'
    return 'more'
  }
}

import type { WebSocket as ClientSocket } from './uws/uws-types.d.ts'

/** Interval of flushing buffered bytes to a paused client: while it reads, and when it does not. */
const FLUSH_MIN_MS = 2
const FLUSH_MAX_MS = 25

/** Pauses and resumes a socket of the library, reading and writing alike. */
export interface SocketSwitch {
  readonly pause: () => void
  readonly resume: () => void
}

const noop = () => {}

/**
 * Pauses reading from a client; the library alone would stop writing to it, too. All methods are idempotent.
 *
 * A resumed client is closed after half a minute of silence: resuming starts the library's timeout for requests, the next
 * message the one for WebSockets.
 */
export class ClientThrottle {
  readonly #client: ClientSocket
  readonly #switch: SocketSwitch
  readonly #onFlushed: () => void
  #paused = false
  #immediate: NodeJS.Immediate | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined
  #flushMs = FLUSH_MIN_MS
  readonly #settle = (): void => {
    this.#immediate = undefined
    if (this.#paused) this.#pauseAndFlush()
    this.#onFlushed()
  }
  readonly #flush = (): void => {
    this.#timer = undefined
    const client = this.#client
    const before = client.getBufferedAmount()
    // Uncorking writes the buffer of the library.
    client.cork(noop)
    const isReading = client.getBufferedAmount() < before
    this.#flushMs = isReading ? FLUSH_MIN_MS : Math.min(2 * this.#flushMs, FLUSH_MAX_MS)
    this.#pauseAndFlush()
    this.#onFlushed()
  }

  /** @param onFlushed called when the buffer may have shrunk: the library does not report writes to a paused client. */
  constructor(client: ClientSocket, toggle: SocketSwitch, onFlushed: () => void) {
    this.#client = client
    this.#switch = toggle
    this.#onFlushed = onFlushed
  }

  pause(): void {
    this.#paused = true
    this.#switch.pause()
    // After the client's messages the library writes its buffer, and resumes reading if not all of it is accepted.
    this.#immediate ??= setImmediate(this.#settle)
  }

  /** To be called after a write: an incomplete one makes the library resume reading. */
  pauseClient(): void {
    if (this.#paused) this.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#switch.resume()
    this.#immediate ??= setImmediate(this.#settle)
  }

  /** The client disconnected and must not be accessed any more. */
  stop(): void {
    this.#paused = false
    clearImmediate(this.#immediate)
    this.#immediate = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #pauseAndFlush(): void {
    this.#switch.pause()
    if (this.#timer === undefined && this.#client.getBufferedAmount() > 0) {
      this.#timer = setTimeout(this.#flush, this.#flushMs).unref()
    }
  }
}

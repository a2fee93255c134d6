import type { WebSocket as ClientSocket } from './uws/uws-types.d.ts'

/** Minimum and maximum interval for flushing bytes to a paused client; the interval grows while it does not read. */
const FLUSH_MIN_MS = 2
const FLUSH_MAX_MS = 25

/** Pauses and resumes a library socket, for both reading and writing. */
export interface SocketSwitch {
  readonly pause: () => void
  readonly resume: () => void
}

const noop = () => {}

/**
 * Pauses reading from a client; the library alone would also stop writing to it. All methods are idempotent.
 *
 * A resumed client is closed after 30 seconds of silence: resuming starts the library's request timeout, and the next
 * message starts the WebSocket timeout.
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
    // Uncorking writes the library's buffer.
    client.cork(noop)
    const isReading = client.getBufferedAmount() < before
    this.#flushMs = isReading ? FLUSH_MIN_MS : Math.min(2 * this.#flushMs, FLUSH_MAX_MS)
    this.#pauseAndFlush()
    this.#onFlushed()
  }

  /**
   * @param onFlushed called when the buffer may have shrunk, since the library does not report writes to a paused
   * client.
   */
  constructor(client: ClientSocket, toggle: SocketSwitch, onFlushed: () => void) {
    this.#client = client
    this.#switch = toggle
    this.#onFlushed = onFlushed
  }

  pause(): void {
    this.#paused = true
    this.#switch.pause()
    // After the client's messages, the library writes its buffer, and resumes reading if the write is incomplete.
    this.#immediate ??= setImmediate(this.#settle)
  }

  /** Must be called after a write, because an incomplete write makes the library resume reading. */
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

  /** Call when the client has disconnected; it must not be accessed afterwards. */
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

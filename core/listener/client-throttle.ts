import type { WebSocket as ClientSocket } from './uws/uws-types.d.ts'

/** How often what waits for a client that is held back is written on: as long as it takes some, and at most. */
const FLUSH_MIN_MS = 2
const FLUSH_MAX_MS = 25

/** How a version of the library stops and goes on to serve a socket, reading and writing alike. */
export interface SocketSwitch {
  readonly pause: () => void
  readonly resume: () => void
}

const nothing = () => {}

/**
 * Holds a client back, and nothing else: the library would stop writing to it, too. All
 * methods may be called again in the same state.
 *
 * A client that was held back is given up after half a minute of silence: resuming starts the
 * library's clock for requests, the next message the one for WebSockets.
 */
export class ClientThrottle {
  readonly #client: ClientSocket
  readonly #switch: SocketSwitch
  readonly #onFlushed: () => void
  #paused = false
  #turn: NodeJS.Immediate | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined
  #flushMs = FLUSH_MIN_MS
  readonly #settle = (): void => {
    this.#turn = undefined
    if (this.#paused) this.#hold()
    this.#onFlushed()
  }
  readonly #flush = (): void => {
    this.#timer = undefined
    const client = this.#client
    const before = client.getBufferedAmount()
    // At the end of it the library writes what waits.
    client.cork(nothing)
    const took = client.getBufferedAmount() < before
    this.#flushMs = took ? FLUSH_MIN_MS : Math.min(2 * this.#flushMs, FLUSH_MAX_MS)
    this.#hold()
    this.#onFlushed()
  }

  /** @param onFlushed called when less may wait for the client than before: of what was written while it was held back the library tells nothing. */
  constructor(client: ClientSocket, toggle: SocketSwitch, onFlushed: () => void) {
    this.#client = client
    this.#switch = toggle
    this.#onFlushed = onFlushed
  }

  pause(): void {
    this.#paused = true
    this.#switch.pause()
    // Behind the client's messages the library writes what waits, and reads on if not all goes out.
    this.#turn ??= setImmediate(this.#settle)
  }

  /** After a write: one that does not go out whole makes the library read on. */
  hold(): void {
    if (this.#paused) this.pause()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#switch.resume()
    this.#turn ??= setImmediate(this.#settle)
  }

  /** The client is gone, and must not be touched any more. */
  stop(): void {
    this.#paused = false
    clearImmediate(this.#turn)
    this.#turn = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #hold(): void {
    this.#switch.pause()
    if (this.#timer === undefined && this.#client.getBufferedAmount() > 0) {
      this.#timer = setTimeout(this.#flush, this.#flushMs).unref()
    }
  }
}

import type { WebSocket as ClientSocket } from './uws-types.d.ts'

/** How often what waits for a client that is held back is written on. */
const FLUSH_MS = 25

/** How a version of the library stops and goes on to serve a socket, reading and writing alike. */
export interface SocketSwitch {
  readonly pause: () => void
  readonly resume: () => void
}

const nothing = () => {}

/**
 * Holds a client back, and nothing else: the library would stop writing to it, too. Both
 * methods may be called again in the same state.
 */
export class ClientThrottle {
  readonly #client: ClientSocket
  readonly #switch: SocketSwitch
  readonly #onFlushed: () => void
  #paused = false
  #timer: NodeJS.Timeout | undefined = undefined
  readonly #flush = (): void => {
    this.#timer = undefined
    const client = this.#client
    const before = client.getBufferedAmount()
    // At the end of it the library writes what waits.
    client.cork(nothing)
    this.pause()
    if (client.getBufferedAmount() < before) this.#onFlushed()
  }

  /** @param onFlushed called when less waits for the client than before: the library does not tell while it is held back. */
  constructor(client: ClientSocket, toggle: SocketSwitch, onFlushed: () => void) {
    this.#client = client
    this.#switch = toggle
    this.#onFlushed = onFlushed
  }

  pause(): void {
    this.#paused = true
    this.#switch.pause()
    if (this.#timer === undefined && this.#client.getBufferedAmount() > 0) {
      this.#timer = setTimeout(this.#flush, FLUSH_MS).unref()
    }
  }

  resume(): void {
    if (!this.#paused) return
    this.stop()
    this.#switch.resume()
  }

  /** The client is gone, and must not be touched any more. */
  stop(): void {
    this.#paused = false
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** Number of ticks without a message after a probe until the connection is considered dead. */
const PATIENCE = 2

export interface SilenceOptions {
  /** Number of calls in flight. Without calls, no messages are expected. */
  readonly inFlight: () => number
  /** Sends a probe. */
  readonly probe: () => void
  /** Called when the connection is considered dead. */
  readonly onDead: () => void
}

/**
 * Detects half-open connections. Pages cannot ping (docs/protocol.md §2.6), and streams may be idle for a long time.
 * After one tick without a message, a probe is sent; after two more, the connection is considered dead.
 */
export class Silence {
  readonly #options: SilenceOptions
  #isAlive = true
  /** Ticks since the probe; undefined if no probe is pending. */
  #probeTicks: number | undefined

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  /** Records a received message. */
  onMessage(): void {
    this.#isAlive = true
    this.#probeTicks = undefined
  }

  /** Must be called at a fixed interval. */
  tick(): void {
    if (this.#probeTicks !== undefined && ++this.#probeTicks >= PATIENCE)
      return this.#options.onDead()
    if (!this.#isAlive && this.#options.inFlight() > 0) this.check()
    this.#isAlive = false
  }

  /** Sends a probe unless a message was received since the last tick. */
  check(): void {
    if (this.#isAlive || this.#probeTicks !== undefined) return
    this.#probeTicks = 0
    this.#options.probe()
  }
}

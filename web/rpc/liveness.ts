/** Ticks of silence after a question, until its connection counts as dead. */
const PATIENCE = 2

export interface SilenceOptions {
  /** Calls that are under way: without any, nothing is to come. */
  readonly awaited: () => number
  /** Asks what any server answers at once. */
  readonly ping: () => void
  /** Nothing came: the connection is dead, whatever it looks like. */
  readonly onDead: () => void
}

/**
 * Notices a connection that is silently dead. Pages cannot ping (docs/protocol.md §2.6), and streams may be quiet for long: after
 * one tick without a sign of life something is asked, after two more the connection is given up.
 */
export class Silence {
  readonly #options: SilenceOptions
  #lastSeen = true
  /** Ticks since something was asked; undefined: nothing is. */
  #asked: number | undefined

  constructor(options: SilenceOptions) {
    this.#options = options
  }

  /** Something came. */
  onMessage(): void {
    this.#lastSeen = true
    this.#asked = undefined
  }

  /** Time has passed. */
  tick(): void {
    if (this.#asked !== undefined && ++this.#asked >= PATIENCE) return this.#options.onDead()
    if (!this.#lastSeen && this.#options.awaited() > 0) this.check()
    this.#lastSeen = false
  }

  /** Asks at once, unless something came since the last tick. */
  check(): void {
    if (this.#lastSeen || this.#asked !== undefined) return
    this.#asked = 0
    this.#options.ping()
  }
}

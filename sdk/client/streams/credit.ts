import { WINDOW_BYTES } from '../../../core/rpc/ws/frames.ts'

/** What a body takes from a window where it is a value, whose bytes nobody counts: 64 of them fill it. */
export const VALUE_COST: number = WINDOW_BYTES / 64

/**
 * What one end of a stream may send, as the window of a connection has it (docs/protocol.md §2.5). More is granted in a
 * later turn of the event loop: two ends of one process that only wait for one another must not keep it from turning.
 */
export class Credit {
  #left = WINDOW_BYTES
  #consumed = 0
  #isHeld = false
  #isGranting = false
  readonly #onGrant: () => void
  readonly #grant = (): void => {
    this.#isGranting = false
    this.#isHeld = false
    this.#left += this.#consumed
    this.#consumed = 0
    this.#onGrant()
  }

  /** @param onGrant called when a body may be sent after one was refused. */
  constructor(onGrant: () => void) {
    this.#onGrant = onGrant
  }

  /** Whether a body of that cost may be sent now. */
  take(cost: number): boolean {
    if (this.#left > 0) {
      this.#left -= cost
      return true
    }
    this.#isHeld = true
    this.#ask()
    return false
  }

  /** The other end is done with a body of that cost. */
  consumed(cost: number): void {
    // Never more than was sent, whatever the program says.
    this.#consumed = Math.min(this.#consumed + cost, WINDOW_BYTES - this.#left)
    if (this.#isHeld) this.#ask()
  }

  #ask(): void {
    if (this.#isGranting || this.#consumed < WINDOW_BYTES / 2) return
    this.#isGranting = true
    setImmediate(this.#grant)
  }
}

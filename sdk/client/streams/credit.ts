import { WINDOW_BYTES } from '../../../core/rpc/ws/frames.ts'

/** Window cost of a value, whose size is unknown: 64 values fill the window. */
export const VALUE_COST: number = WINDOW_BYTES / 64

/**
 * Flow-control window of one direction of a stream (docs/protocol.md §2.5). Credit is granted in a later tick, so that
 * two ends in one process that wait for each other do not block the event loop.
 */
export class Credit {
  #remaining = WINDOW_BYTES
  #consumed = 0
  #isBlocked = false
  #isGranting = false
  readonly #onGrant: () => void
  readonly #grant = (): void => {
    this.#isGranting = false
    this.#isBlocked = false
    this.#remaining += this.#consumed
    this.#consumed = 0
    this.#onGrant()
  }

  /** @param onGrant called when sending becomes possible after a body was rejected. */
  constructor(onGrant: () => void) {
    this.#onGrant = onGrant
  }

  /** Takes credit for a body. Returns false if the window is exhausted. */
  take(cost: number): boolean {
    if (this.#remaining > 0) {
      this.#remaining -= cost
      return true
    }
    this.#isBlocked = true
    this.#request()
    return false
  }

  /** Returns the credit of a consumed body. */
  consumed(cost: number): void {
    // Limited to the credit taken, regardless of the values that the program reports.
    this.#consumed = Math.min(this.#consumed + cost, WINDOW_BYTES - this.#remaining)
    if (this.#isBlocked) this.#request()
  }

  #request(): void {
    if (this.#isGranting || this.#consumed < WINDOW_BYTES / 2) return
    this.#isGranting = true
    setImmediate(this.#grant)
  }
}

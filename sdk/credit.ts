/** Bodies that may wait for their reader. */
const WINDOW = 64

/**
 * What one end of a stream may send. More is granted in a later turn of the event loop: two ends of one process that
 * only wait for one another must not keep it from turning.
 */
export class Credit {
  #left = WINDOW
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

  /** Whether another body may be sent. */
  take(): boolean {
    if (this.#left > 0) {
      this.#left--
      return true
    }
    this.#isHeld = true
    this.#ask()
    return false
  }

  /** The other end is done with one. */
  consumed(): void {
    this.#consumed++
    if (this.#isHeld) this.#ask()
  }

  #ask(): void {
    if (this.#isGranting || this.#consumed < WINDOW / 2) return
    this.#isGranting = true
    setImmediate(this.#grant)
  }
}

const EVERY_MS = 20
/** Share of the previous delay that remains after each measurement; half of it remains after about 60 ms. */
const DECAY = 0.8

/** Recent event-loop delay, measured by how late a timer fires. */
export class EventLoopDelay {
  /** Delay in milliseconds. */
  ms = 0
  readonly #timer: NodeJS.Timeout
  #dueMs = performance.now() + EVERY_MS

  constructor() {
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.ms = Math.max(nowMs - this.#dueMs, this.ms * DECAY)
      this.#dueMs = nowMs + EVERY_MS
    }, EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

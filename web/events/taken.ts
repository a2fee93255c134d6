import type { EventMessage } from './event.ts'

/** Events that stay: the newest. */
export const KEPT = 5000

/** Events that were consumed. */
export class TakenEvents {
  readonly #events: EventMessage[] = []
  #shown: readonly EventMessage[] | undefined
  #count = 0
  #last: number | undefined

  push(event: EventMessage): void {
    this.#events.push(event)
    // Not with each event: the others would have to move every time.
    if (this.#events.length >= 2 * KEPT) this.#events.splice(0, KEPT)
    this.#last = Math.max(this.#last ?? 0, event.sequence)
    this.#count++
    this.#shown = undefined
  }

  /** Those that stay; the same list until there is another event. */
  get all(): readonly EventMessage[] {
    this.#shown ??= this.#events.slice(-KEPT)
    return this.#shown
  }

  /** All there were. */
  get count(): number {
    return this.#count
  }

  /** Highest sequence; undefined: there was none. */
  get last(): number | undefined {
    return this.#last
  }
}

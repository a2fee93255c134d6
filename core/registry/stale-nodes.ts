/** Services register again within a heartbeat of 30 s; what does not for a TTL of 90 s is gone. Some time to tell it is added. */
const HELD_MS = 95_000

/**
 * What went missing while the registry was away, and stays in use for 95 s from then on: a registry that was started anew knows
 * less than before.
 */
export class StaleNodes<T> {
  readonly #nowMs: () => number
  readonly #items = new Map<string, { readonly item: T; readonly untilMs: number }>()

  /** @param nowMs milliseconds that only grow. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#items.size
  }

  /** In the order in which they went missing. */
  get items(): T[] {
    return Array.from(this.#items.values(), ({ item }) => item)
  }

  get(key: string): T | undefined {
    return this.#items.get(key)?.item
  }

  /** Holds it; one that is held already for no longer than before. */
  add(key: string, item: T): void {
    if (!this.#items.has(key)) this.#items.set(key, { item, untilMs: this.#nowMs() + HELD_MS })
  }

  /** It is named again, or known to be gone. @returns whether it was held. */
  release(key: string): boolean {
    return this.#items.delete(key)
  }

  releaseAll(): void {
    this.#items.clear()
  }

  /** Lets go of what was held for 95 s. @returns what that was. */
  expire(): T[] {
    const now = this.#nowMs()
    const expired: T[] = []
    for (const [key, { item, untilMs }] of this.#items) {
      if (untilMs > now) break
      this.#items.delete(key)
      expired.push(item)
    }
    return expired
  }
}

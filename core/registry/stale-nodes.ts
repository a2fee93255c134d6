/** Services renew their registration every 30 s with a TTL of 90 s; 5 s are added for propagation. */
const RETAINED_MS = 95_000

/** Nodes that disappeared during a registry outage, retained for 95 s because a restarted registry is incomplete. */
export class StaleNodes<T> {
  readonly #nowMs: () => number
  readonly #items = new Map<string, { readonly item: T; readonly untilMs: number }>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#items.size
  }

  /** Items in the order of their disappearance. */
  get items(): T[] {
    return Array.from(this.#items.values(), ({ item }) => item)
  }

  get(key: string): T | undefined {
    return this.#items.get(key)?.item
  }

  /** Retains an item. An item that is already retained keeps its expiry. */
  add(key: string, item: T): void {
    if (!this.#items.has(key)) this.#items.set(key, { item, untilMs: this.#nowMs() + RETAINED_MS })
  }

  /** Drops an item that is registered again or known to be deleted. @returns true if it was retained. */
  release(key: string): boolean {
    return this.#items.delete(key)
  }

  releaseAll(): void {
    this.#items.clear()
  }

  /** Drops and returns the items that were retained for 95 s. */
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

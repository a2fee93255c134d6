/** Services renew their registration with a heartbeat of 30 s and a TTL of 90 s; 5 s are added for propagation. */
const RETAINED_MS = 95_000

/** Nodes that vanished during a registry outage, retained for 95 s: after a restart a registry is incomplete. */
export class StaleNodes<T> {
  readonly #nowMs: () => number
  readonly #items = new Map<string, { readonly item: T; readonly untilMs: number }>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#items.size
  }

  /** In the order in which they vanished. */
  get items(): T[] {
    return Array.from(this.#items.values(), ({ item }) => item)
  }

  get(key: string): T | undefined {
    return this.#items.get(key)?.item
  }

  /** Retains an item; an item already retained keeps its expiry. */
  add(key: string, item: T): void {
    if (!this.#items.has(key)) this.#items.set(key, { item, untilMs: this.#nowMs() + RETAINED_MS })
  }

  /** Drops an item that is registered again, or known to be gone. @returns true if it was retained. */
  release(key: string): boolean {
    return this.#items.delete(key)
  }

  releaseAll(): void {
    this.#items.clear()
  }

  /** Drops the items retained for 95 s, and returns them. */
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

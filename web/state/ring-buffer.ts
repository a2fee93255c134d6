export interface RecentLimits<T> {
  readonly count: number
  readonly bytes: number
  readonly sizeOf: (item: T) => number
}

/** Bounded buffer of the most recent items. Always retains the newest item. */
export class Recent<T> {
  readonly #limits: RecentLimits<T>
  readonly #items: (T | undefined)[] = []
  /** Number of dropped items at the start of {@link #items}. */
  #dropped = 0
  #bytes = 0
  #all: readonly T[] | undefined

  constructor(limits: RecentLimits<T>) {
    this.#limits = limits
  }

  push(item: T): void {
    const { count, bytes, sizeOf } = this.#limits
    this.#items.push(item)
    this.#bytes += sizeOf(item)
    while (
      this.#items.length - this.#dropped > 1 &&
      (this.#items.length - this.#dropped > count || this.#bytes > bytes)
    ) {
      this.#bytes -= sizeOf(this.#items[this.#dropped]!)
      this.#items[this.#dropped++] = undefined
    }
    // Compacting on every push would move all items each time.
    if (this.#dropped > this.#items.length / 2) {
      this.#items.splice(0, this.#dropped)
      this.#dropped = 0
    }
    this.#all = undefined
  }

  /** Retained items, oldest first. Returns the same array until the next push. */
  get all(): readonly T[] {
    this.#all ??= this.#items.slice(this.#dropped) as T[]
    return this.#all
  }

  clear(): void {
    this.#items.length = 0
    this.#dropped = 0
    this.#bytes = 0
    this.#all = undefined
  }
}

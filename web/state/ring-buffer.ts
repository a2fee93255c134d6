/** What is kept at most. */
export interface RecentLimits<T> {
  readonly count: number
  readonly bytes: number
  readonly sizeOf: (item: T) => number
}

/** The newest of what comes without end. The very newest stays, however large it is. */
export class Recent<T> {
  readonly #limits: RecentLimits<T>
  readonly #items: (T | undefined)[] = []
  /** At the start, so many are forgotten. */
  #gone = 0
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
      this.#items.length - this.#gone > 1 &&
      (this.#items.length - this.#gone > count || this.#bytes > bytes)
    ) {
      this.#bytes -= sizeOf(this.#items[this.#gone]!)
      this.#items[this.#gone++] = undefined
    }
    // Not with each item: the others would have to move every time.
    if (this.#gone > this.#items.length / 2) {
      this.#items.splice(0, this.#gone)
      this.#gone = 0
    }
    this.#all = undefined
  }

  /** What is kept, the oldest first; the same list until there is another item. */
  get all(): readonly T[] {
    this.#all ??= this.#items.slice(this.#gone) as T[]
    return this.#all
  }

  clear(): void {
    this.#items.length = 0
    this.#gone = 0
    this.#bytes = 0
    this.#all = undefined
  }
}

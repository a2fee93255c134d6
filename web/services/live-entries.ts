import { type Change, type Entries, type Entry, keyOf } from './service-rows.ts'

/** What is registered: a list of it, and whatever has changed since it began to be made. */
export class LiveEntries {
  readonly #now = new Map<string, Entry>()
  #shown: Entries | undefined
  #isListed = false
  /** The last change of each version since a list began to be made; undefined: none is. */
  #meanwhile: Map<string, Change> | undefined

  /** Undefined: not listed yet. The same map until something changes. */
  get entries(): Entries | undefined {
    if (this.#isListed) this.#shown ??= new Map(this.#now)
    return this.#shown
  }

  /** A list begins to be made, in place of one that is not done yet. @returns takes it. */
  beginList(): (list: Entries) => void {
    const meanwhile = new Map<string, Change>()
    this.#meanwhile = meanwhile
    return (list) => {
      if (this.#meanwhile !== meanwhile) return
      this.#meanwhile = undefined
      this.#isListed = true
      this.#now.clear()
      for (const [key, entry] of list) this.#now.set(key, entry)
      for (const [key, change] of meanwhile) this.#fold(key, change)
      this.#shown = undefined
    }
  }

  apply(change: Change): void {
    const key = keyOf(change.service)
    this.#meanwhile?.set(key, change)
    if (!this.#isListed) return
    this.#fold(key, change)
    this.#shown = undefined
  }

  #fold(key: string, { action, service }: Change): void {
    if (action === 'delete') this.#now.delete(key)
    else this.#now.set(key, service)
  }
}

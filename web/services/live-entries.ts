import { type Change, type Entries, type Entry, keyOf } from './service-rows.ts'

/** Registry entries: a list merged with the changes received since it was requested. */
export class LiveEntries {
  readonly #entries = new Map<string, Entry>()
  #snapshot: Entries | undefined
  #isListed = false
  /** Last change of each version since the pending list request; undefined if none is pending. */
  #changes: Map<string, Change> | undefined

  /** Entries; undefined before the first list. Returns the same map until an entry changes. */
  get entries(): Entries | undefined {
    if (this.#isListed) this.#snapshot ??= new Map(this.#entries)
    return this.#snapshot
  }

  /** Starts a list request, superseding a pending one. @returns a function that applies the response. */
  startList(): (list: Entries) => void {
    const changes = new Map<string, Change>()
    this.#changes = changes
    return (list) => {
      if (this.#changes !== changes) return
      this.#changes = undefined
      this.#isListed = true
      this.#entries.clear()
      for (const [key, entry] of list) this.#entries.set(key, entry)
      for (const [key, change] of changes) this.#merge(key, change)
      this.#snapshot = undefined
    }
  }

  apply(change: Change): void {
    const key = keyOf(change.service)
    this.#changes?.set(key, change)
    if (!this.#isListed) return
    this.#merge(key, change)
    this.#snapshot = undefined
  }

  #merge(key: string, { action, service }: Change): void {
    if (action === 'delete') this.#entries.delete(key)
    else this.#entries.set(key, service)
  }
}

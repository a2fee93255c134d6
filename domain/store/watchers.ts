import type { StoreEvent, StoreListener, StoreTable } from '../../core/contracts/store.ts'

/** Watchers of key prefixes. */
export interface StoreWatchers extends StoreListener {
  readonly size: number
  /**
   * Watches the keys in a table that start with `prefix`, until the returned function is called.
   */
  readonly add: (table: StoreTable, prefix: string, listener: StoreListener) => () => void
}

interface Watcher {
  readonly prefix: string
  readonly listener: StoreListener
}

/** Dispatches each change to the watchers of its key. */
export function createStoreWatchers(): StoreWatchers {
  /** Watchers by database and name of the table, joined with NUL. There are no empty sets. */
  const tables = new Map<string, Set<Watcher>>()
  let size = 0

  return {
    get size() {
      return size
    },

    add(table, prefix, listener) {
      const name = toName(table)
      const watcher: Watcher = { prefix, listener }
      const watchers = tables.get(name) ?? new Set()
      tables.set(name, watchers.add(watcher))
      size++
      return () => {
        if (!watchers.delete(watcher)) return
        size--
        if (watchers.size === 0) tables.delete(name)
      }
    },

    onEvent(event: StoreEvent) {
      const watchers = tables.get(toName(event.table))
      if (watchers === undefined) return
      for (const { prefix, listener } of watchers)
        if (event.key.startsWith(prefix)) listener.onEvent(event)
    },

    onMissedEvents() {
      for (const watchers of tables.values())
        for (const { listener } of watchers) listener.onMissedEvents()
    },
  }
}

function toName({ database, table }: StoreTable): string {
  return `${database}\0${table}`
}

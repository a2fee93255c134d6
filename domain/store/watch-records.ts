import { setTimeout as delay } from 'node:timers/promises'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import { readAll } from './read-all.ts'
import type { Store } from './store.ts'

export interface WatchRecordsOptions {
  readonly store: Store
  readonly table: StoreTable
  /** What their keys begin with. */
  readonly prefix: string
  /**
   * Gets the records that are new, or have changed, by their keys; undefined: it is gone.
   *
   * @param isAll these are all there are.
   */
  readonly onRecords: (
    records: ReadonlyMap<string, StoreRecord | undefined>,
    isAll: boolean,
  ) => void
  /** Told once, when changes cannot be read any more; it is tried until they can. */
  readonly onError: (error: unknown) => void
}

/** Records that are watched. */
export interface WatchedRecords {
  /** Resolves when what was written before has been told. @throws {GatewayError} 503 when the store cannot be reached. */
  readonly refresh: () => Promise<void>
  readonly close: () => void
}

/**
 * Tells of all records, then of each change.
 *
 * @throws {GatewayError} 503 when the store cannot be reached.
 */
export async function watchRecords(options: WatchRecordsOptions): Promise<WatchedRecords> {
  const { store, table, prefix, onRecords, onError } = options
  const backOff = createBackOff()
  const closing = new AbortController()
  const changed = new Set<string>()
  let isAll = true
  let reading: Promise<void> | undefined
  let isFollowing = false

  async function readChanges(): Promise<void> {
    while (isAll || changed.size > 0) {
      const wasAll = isAll
      const keys = [...changed]
      isAll = false
      changed.clear()
      try {
        onRecords(wasAll ? await readEach() : await readSome(keys), wasAll)
      } catch (error) {
        isAll = true
        throw error
      }
    }
  }

  /** One after the other: what is told last is what is there. */
  function readOnce(): Promise<void> {
    reading ??= readChanges().finally(() => {
      reading = undefined
    })
    return reading
  }

  async function readEach(): Promise<ReadonlyMap<string, StoreRecord>> {
    const records = await readAll(store, table, prefix, closing.signal)
    return new Map(records.map((record) => [record.key, record]))
  }

  async function readSome(keys: readonly string[]) {
    const records = new Map<string, StoreRecord | undefined>()
    for (const key of keys) records.set(key, await store.read(table, key))
    return records
  }

  async function follow(): Promise<void> {
    if (isFollowing) return
    isFollowing = true
    for (let failures = 0; !closing.signal.aborted; failures++) {
      try {
        await readOnce()
        break
      } catch (error) {
        if (closing.signal.aborted) break
        if (failures === 0) onError(error)
        await delay(backOff.next(), undefined, { ref: false })
      }
    }
    backOff.reset()
    isFollowing = false
  }

  const stop = await store.watch(table, prefix, {
    onEvent({ key }) {
      changed.add(key)
      void follow()
    },
    onMissedEvents() {
      isAll = true
      void follow()
    },
  })
  try {
    await readOnce()
  } catch (error) {
    stop()
    throw error
  }
  return {
    async refresh() {
      isAll = true
      await readOnce()
      // The one that was under way may have begun before.
      if (isAll) await readOnce()
    },

    close() {
      closing.abort()
      stop()
    },
  }
}

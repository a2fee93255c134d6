import { setTimeout as delay } from 'node:timers/promises'
import type { StoreRecord, StoreTable } from '../../core/contracts/store.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import { readAll } from './read-all.ts'
import type { Store } from './store.ts'

export interface WatchRecordsOptions {
  readonly store: Store
  readonly table: StoreTable
  /** Prefix of the keys. */
  readonly prefix: string
  /**
   * Called with new and changed records by key; undefined for deleted records.
   *
   * @param isAll whether the map is a complete snapshot.
   */
  readonly onRecords: (
    records: ReadonlyMap<string, StoreRecord | undefined>,
    isAll: boolean,
  ) => void
  /** Called for the first failed read in a series. Reads are retried. */
  readonly onError: (error: unknown) => void
}

export interface WatchedRecords {
  /**
   * Resolves once all earlier writes have been reported.
   *
   * @throws {GatewayError} 503 if the store is unreachable.
   */
  readonly refresh: () => Promise<void>
  readonly close: () => void
}

/**
 * Reports all records, then each change.
 *
 * @throws {GatewayError} 503 if the store is unreachable.
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

  /** Only one read runs at a time, so that the last report is the current state. */
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
      // A read in flight may have started before the write.
      if (isAll) await readOnce()
    },

    close() {
      closing.abort()
      stop()
    },
  }
}

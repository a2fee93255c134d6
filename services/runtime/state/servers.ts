import type { StoreRecord } from '../../../core/contracts/store.ts'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'
import { readAll } from '../../../domain/store/read-all.ts'
import type { Store } from '../../../domain/store/store.ts'
import { RUNTIME_TABLE } from './records.ts'

/** Servers that share a store. */
export interface Servers {
  /** Sends heartbeats until `close`. */
  readonly begin: () => Promise<void>
  /**
   * Returns the servers without a recent heartbeat, as the Unix time of their last heartbeat in
   * milliseconds by id.
   */
  readonly findUnreachable: (signal?: AbortSignal) => Promise<ReadonlyMap<string, number>>
  /** Returns the result of {@link findUnreachable} at the last heartbeat of this server. */
  readonly unreachable: () => ReadonlyMap<string, number>
  /**
   * Calls `listener` with the servers that became unavailable or returned, until the returned
   * function is called.
   */
  readonly watch: (listener: (changed: ReadonlySet<string>) => void) => () => void
  /** Sends a heartbeat and reads the heartbeats of other servers. */
  readonly refresh: () => Promise<void>
  readonly close: () => void
}

interface Sign {
  /** Unix time in milliseconds. */
  readonly timeMs: number
}

export interface ServersOptions {
  readonly store: Store
  /** Id of this server. */
  readonly server: string
  readonly nowMs: () => number
}

const PREFIX = 'server:'
const EVERY_MS = 15_000
/** Time that tolerates missed heartbeats and clock skew. */
const UNREACHABLE_MS = 60_000

export function createServers({ store, server, nowMs }: ServersOptions): Servers {
  const listeners = new Set<(changed: ReadonlySet<string>) => void>()
  let timer: NodeJS.Timeout | undefined
  let unreachable: ReadonlyMap<string, number> = new Map()

  async function sendHeartbeat(): Promise<void> {
    const value = encodeRecord({ timeMs: nowMs() } satisfies Sign)
    await store.commit([{ table: RUNTIME_TABLE, key: PREFIX + server, value }])
  }

  async function findUnreachable(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const result = new Map<string, number>()
    for (const record of await readAll(store, RUNTIME_TABLE, PREFIX, signal)) {
      const id = record.key.slice(PREFIX.length)
      const timeMs = readTime(record)
      if (timeMs === undefined || id === server || nowMs() - timeMs <= UNREACHABLE_MS) continue
      result.set(id, timeMs)
    }
    return result
  }

  async function refresh(): Promise<void> {
    await sendHeartbeat()
    const [before, now] = [unreachable, await findUnreachable()]
    unreachable = now
    const changed = [...before.keys(), ...now.keys()].filter((id) => before.has(id) !== now.has(id))
    if (changed.length > 0) for (const listener of listeners) listener(new Set(changed))
  }

  return {
    ...{ findUnreachable: findUnreachable, refresh },

    async begin() {
      await refresh()
      // Other components report an unavailable store.
      timer = setInterval(() => refresh().catch(() => {}), EVERY_MS).unref()
    },

    unreachable: () => unreachable,

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    close: () => clearInterval(timer),
  }
}

/**
 * Returns undefined for a record written by another version of mx. Its server counts as available.
 */
function readTime(record: StoreRecord): number | undefined {
  try {
    return decodeRecord<Sign>(record, RUNTIME_TABLE.table, ({ timeMs }) => Number.isFinite(timeMs))
      .timeMs
  } catch {
    return undefined
  }
}

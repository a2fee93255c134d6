import type { StoreRecord } from '../../../core/contracts/store.ts'
import { decodeRecord, encodeRecord } from '../../../domain/store/json-record.ts'
import { readAll } from '../../../domain/store/read-all.ts'
import type { Store } from '../../../domain/store/store.ts'
import { TABLE } from './records.ts'

/** The servers that run services of a store. */
export interface Servers {
  /** Gives signs of life of this one, until `close`. */
  readonly begin: () => Promise<void>
  /** When the others gave their last sign of life that have not lately, Unix time in milliseconds, by id. */
  readonly findAway: (signal?: AbortSignal) => Promise<ReadonlyMap<string, number>>
  /** Those of {@link findAway} as they were at the last sign of life given. */
  readonly away: () => ReadonlyMap<string, number>
  /** Calls `listener` with those that went away or came back; until the function that is returned is called. */
  readonly watch: (listener: (changed: ReadonlySet<string>) => void) => () => void
  /** Gives a sign of life, and looks for those of others. */
  readonly refresh: () => Promise<void>
  readonly close: () => void
}

interface Sign {
  /** Unix time. */
  readonly timeMs: number
}

export interface ServersOptions {
  readonly store: Store
  /** Id of this one. */
  readonly server: string
  readonly nowMs: () => number
}

const PREFIX = 'server:'
const EVERY_MS = 15_000
/** A few signs may be missing, and clocks differ. */
const AWAY_MS = 60_000

export function createServers({ store, server, nowMs }: ServersOptions): Servers {
  const listeners = new Set<(changed: ReadonlySet<string>) => void>()
  let timer: NodeJS.Timeout | undefined
  let away: ReadonlyMap<string, number> = new Map()

  async function give(): Promise<void> {
    const value = encodeRecord({ timeMs: nowMs() } satisfies Sign)
    await store.commit([{ table: TABLE, key: PREFIX + server, value }])
  }

  async function findAway(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    for (const record of await readAll(store, TABLE, PREFIX, signal)) {
      const id = record.key.slice(PREFIX.length)
      const timeMs = readTime(record)
      if (timeMs === undefined || id === server || nowMs() - timeMs <= AWAY_MS) continue
      found.set(id, timeMs)
    }
    return found
  }

  async function refresh(): Promise<void> {
    await give()
    const [before, now] = [away, await findAway()]
    away = now
    const changed = [...before.keys(), ...now.keys()].filter((id) => before.has(id) !== now.has(id))
    if (changed.length > 0) for (const listener of listeners) listener(new Set(changed))
  }

  return {
    ...{ findAway, refresh },

    async begin() {
      await refresh()
      // A store that is away is told by those who need it more.
      timer = setInterval(() => refresh().catch(() => {}), EVERY_MS).unref()
    },

    away: () => away,

    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    close: () => clearInterval(timer),
  }
}

/** Undefined: another version of mx wrote it, and it is not known to be away. */
function readTime(record: StoreRecord): number | undefined {
  try {
    return decodeRecord<Sign>(record, TABLE.table, ({ timeMs }) => Number.isFinite(timeMs)).timeMs
  } catch {
    return undefined
  }
}

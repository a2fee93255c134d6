import type { StoreRecord } from '../../core/contracts/store.ts'
import { formatKept, parseKept } from '../../core/store/kept-json.ts'
import { readAll } from '../../core/store/read-all.ts'
import type { Store } from '../../core/store/store.ts'
import { TABLE } from './records.ts'

/** The servers that run services of a store. */
export interface Servers {
  /** Gives signs of life of this one, until `close`. */
  readonly begin: () => Promise<void>
  /** When the others gave their last sign of life that have not lately, Unix time in milliseconds, by id. */
  readonly findAway: (signal?: AbortSignal) => Promise<ReadonlyMap<string, number>>
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
  let timer: NodeJS.Timeout | undefined

  async function give(): Promise<void> {
    const value = formatKept({ timeMs: nowMs() } satisfies Sign)
    await store.commit([{ table: TABLE, key: PREFIX + server, value }])
  }

  return {
    async begin() {
      await give()
      // A store that is away is told by those who need it more.
      timer = setInterval(() => give().catch(() => {}), EVERY_MS).unref()
    },

    async findAway(signal) {
      const away = new Map<string, number>()
      for (const record of await readAll(store, TABLE, PREFIX, signal)) {
        const id = record.key.slice(PREFIX.length)
        const timeMs = readTime(record)
        if (timeMs === undefined || id === server || nowMs() - timeMs <= AWAY_MS) continue
        away.set(id, timeMs)
      }
      return away
    },

    close: () => clearInterval(timer),
  }
}

/** Undefined: another version of mx wrote it, and it is not known to be away. */
function readTime(record: StoreRecord): number | undefined {
  try {
    return parseKept<Sign>(record, TABLE.table, ({ timeMs }) => Number.isFinite(timeMs)).timeMs
  } catch {
    return undefined
  }
}

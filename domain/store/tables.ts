import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StoreAdapter, StoreTable } from '../../core/contracts/store.ts'

/** Which tables to list. */
export interface StoreTableQuery {
  /** Only those of this one. */
  readonly database?: string
  /** The last table of the page before. */
  readonly after?: StoreTable
  /** Most tables; 0: all. @default 0 */
  readonly limit?: number
}

/** Which databases to list. */
export interface StoreDatabaseQuery {
  /** The last database of the page before. */
  readonly after?: string
  /** Most databases; 0: all. @default 0 */
  readonly limit?: number
}

/** Tables an adapter looks for in one turn of the event loop. */
const AT_ONCE = 100
/** Behind all names: they begin with letters and digits. */
const BEHIND = '~'

/** Tables by database, then by name, some in each turn of the event loop. */
export async function listTables(
  { listTables }: StoreAdapter,
  { database, after, limit = 0 }: StoreTableQuery,
  signal?: AbortSignal,
): Promise<StoreTable[]> {
  const tables: StoreTable[] = []
  const wanted = limit || Number.POSITIVE_INFINITY
  let last = after
  for (;;) {
    const count = Math.min(AT_ONCE, wanted - tables.length)
    const found = await listTables({
      limit: count,
      ...(database !== undefined && { database }),
      ...(last !== undefined && { after: last }),
    })
    tables.push(...found)
    if (found.length < count || tables.length === wanted) return tables
    last = found.at(-1)
    await nextTurn()
    signal?.throwIfAborted()
  }
}

/** Databases by name. Of each only the first table is looked for. */
export async function listDatabases(
  { listTables }: StoreAdapter,
  { after, limit = 0 }: StoreDatabaseQuery,
  signal?: AbortSignal,
): Promise<string[]> {
  const databases: string[] = []
  const wanted = limit || Number.POSITIVE_INFINITY
  let last = after
  while (databases.length < wanted) {
    const [found] = await listTables({
      limit: 1,
      ...(last !== undefined && { after: { database: last, table: BEHIND } }),
    })
    if (found === undefined) break
    last = found.database
    databases.push(last)
    if (databases.length % AT_ONCE === 0) await nextTurn()
    signal?.throwIfAborted()
  }
  return databases
}

import { setImmediate as nextTick } from 'node:timers/promises'
import type { StoreAdapter, StoreTable } from '../../core/contracts/store.ts'

/** Query of tables. */
export interface StoreTableQuery {
  /** Database of the tables. @default all databases */
  readonly database?: string
  /** Last table of the previous page. */
  readonly after?: StoreTable
  /** Maximum number of tables; 0 for all. @default 0 */
  readonly limit?: number
}

/** Query of databases. */
export interface StoreDatabaseQuery {
  /** Last database of the previous page. */
  readonly after?: string
  /** Maximum number of databases; 0 for all. @default 0 */
  readonly limit?: number
}

/** Number of tables read per event loop tick. */
const TABLES_PER_TICK = 100
/** Sorts after all names, which start with letters or digits. */
const AFTER_ALL = '~'

/** Lists tables by database, then by name. */
export async function listTables(
  { listTables }: StoreAdapter,
  { database, after, limit = 0 }: StoreTableQuery,
  signal?: AbortSignal,
): Promise<StoreTable[]> {
  const tables: StoreTable[] = []
  const max = limit || Number.POSITIVE_INFINITY
  let last = after
  for (;;) {
    const count = Math.min(TABLES_PER_TICK, max - tables.length)
    const found = await listTables({
      limit: count,
      ...(database !== undefined && { database }),
      ...(last !== undefined && { after: last }),
    })
    tables.push(...found)
    if (found.length < count || tables.length === max) return tables
    last = found.at(-1)
    await nextTick()
    signal?.throwIfAborted()
  }
}

/** Lists databases by name. Only the first table of each is read. */
export async function listDatabases(
  { listTables }: StoreAdapter,
  { after, limit = 0 }: StoreDatabaseQuery,
  signal?: AbortSignal,
): Promise<string[]> {
  const databases: string[] = []
  const max = limit || Number.POSITIVE_INFINITY
  let last = after
  while (databases.length < max) {
    const [found] = await listTables({
      limit: 1,
      ...(last !== undefined && { after: { database: last, table: AFTER_ALL } }),
    })
    if (found === undefined) break
    last = found.database
    databases.push(last)
    if (databases.length % TABLES_PER_TICK === 0) await nextTick()
    signal?.throwIfAborted()
  }
  return databases
}

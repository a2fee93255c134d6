import type {
  StoreAdapter,
  StoreGroup,
  StoreKey,
  StoreOutcome,
} from '../../core/contracts/store.ts'
import { storeUnavailable } from '../../domain/store/errors.ts'
import { NO_STORE_QUOTAS, type StoreQuotas } from '../../domain/store/usage.ts'
import { createConnections } from './postgres/client/connections.ts'
import { parsePostgresUrl } from './postgres/client/url.ts'
import {
  decide,
  evaluateConditions,
  type Plan,
  type StoredVersion,
} from './postgres/evaluate-conditions.ts'
import { type Listening, listen } from './postgres/listen.ts'
import { createQuotaCheck } from './postgres/quotas.ts'
import { toRecord, toStoredVersion, toTable } from './postgres/rows.ts'
import { prepareSchema, toChannel } from './postgres/schema.ts'
import { createStatements } from './postgres/statements.ts'
import { toKeyArrays, writeAtomically } from './postgres/write.ts'

export interface PostgresStoreOptions {
  /**
   * See `parsePostgresUrl`; for example
   * `postgres://user:password@host/database?sslmode=verify-full`.
   */
  readonly url: string
  /** Maximum number of connections, in addition to one per watcher. @default 10 */
  readonly maxConnections?: number
  /** Timeout in milliseconds for opening a connection or waiting for a free one. @default 5000 */
  readonly connectTimeoutMs?: number
  /** Timeout of a statement in milliseconds, including waiting for locks. @default 15000 */
  readonly statementTimeoutMs?: number
  /** Heartbeat interval of watch connections in milliseconds. @default 10000 */
  readonly heartbeatMs?: number
  /**
   * Called with security and durability warnings, and at the start and end of outages.
   *
   * @default process.emitWarning
   */
  readonly onWarning?: (message: string) => void
  /**
   * Size limit of the records of all gateways in bytes, as counted by quotas; writes beyond it fail
   * with 507. An additional sixteenth is reserved for accounts, rules, certificates and runtime
   * objects.
   *
   * @default no limit
   */
  readonly maxBytes?: number
  /** @default no limits */
  readonly quotas?: StoreQuotas
}

/** Sorts before all tables. */
const BEFORE_ALL = { database: '', table: '' }

/**
 * Stores records in PostgreSQL 12 or later, shared by any number of gateways. Acknowledged writes
 * are flushed to the server's disk. Connects and creates its schema on the first call. While the
 * server is unreachable, calls fail with 503.
 *
 * @throws {RangeError} if the URL is malformed.
 * @throws {Error} if a file in the URL cannot be read.
 */
export function createPostgresStore(options: PostgresStoreOptions): StoreAdapter {
  const { maxConnections = 10, connectTimeoutMs = 5000, statementTimeoutMs = 15_000 } = options
  const { heartbeatMs = 10_000, onWarning = (message) => process.emitWarning(message) } = options
  const address = parsePostgresUrl(options.url)
  const { schema } = address
  const statements = createStatements(schema)
  const connections = createConnections({
    address,
    maxConnections,
    connectTimeoutMs,
    statementTimeoutMs,
    prepare: (client) => prepareSchema(client, schema, onWarning),
    onWarning,
  })
  const { runStatement: query } = connections
  const { maxBytes = Number.POSITIVE_INFINITY, quotas = NO_STORE_QUOTAS } = options
  const quotaCheck = createQuotaCheck({ quotas, maxBytes, statements, query })
  const inFlight = new Set<Promise<unknown>>()
  const listeners = new Set<Listening>()
  let closing: Promise<void> | undefined

  /** Registers a call that `close` waits for. */
  async function track<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw storeUnavailable(new Error('the store is closed'))
    const pending = work()
    inFlight.add(pending)
    try {
      return await pending
    } finally {
      inFlight.delete(pending)
    }
  }

  async function commit(
    groups: readonly StoreGroup[],
    nowMs: number,
  ): Promise<readonly StoreOutcome[]> {
    const excesses = await quotaCheck.check(groups)
    const accepted = groups.filter((_, index) => excesses[index] === undefined)
    const outcomes = await commitAccepted(accepted, nowMs)
    let at = 0
    return excesses.map((excess) => excess ?? outcomes[at++]!)
  }

  async function commitAccepted(
    groups: readonly StoreGroup[],
    nowMs: number,
  ): Promise<readonly StoreOutcome[]> {
    const decisive = evaluateConditions(groups)
    const names = [...decisive.keys()]
    const places = [...decisive.values()]
    return await writeAtomically(connections, statements, async (run) => {
      const rows =
        places.length === 0 ? [] : await run(statements.readVersions, toKeyArrays(places))
      const current = new Map<string, StoredVersion>(
        rows.map(([place, expires, version]) => [
          names[Number(place) - 1]!,
          toStoredVersion(expires!, version!),
        ]),
      )
      const { plan, toOutcomes } = decide(groups, decisive, current, nowMs)
      return { plan, toResult: toOutcomes }
    })
  }

  async function purge(nowMs: number, limit: number): Promise<readonly StoreKey[]> {
    return await writeAtomically(connections, statements, async (run) => {
      const rows = await run(statements.findExpired, [nowMs, limit])
      const expired = rows.map(([database, table, key, , version]) => ({
        place: { table: toTable([database!, table!]), key: key! },
        version: Number(version),
      }))
      const places = expired.map(({ place }) => place)
      const events = places.map((place) => ({ type: 'delete' as const, ...place }))
      const plan: Plan = { checks: expired, puts: [], deletes: places, events, versions: 0 }
      return { plan, toResult: () => places }
    })
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...inFlight, ...[...listeners].map(({ stop }) => stop())])
    await connections.close()
  }

  return {
    name: 'postgres',

    read: (table, key) =>
      track(async () => {
        const [row] = await query(statements.read, [table.database, table.table, key])
        return row === undefined ? undefined : toRecord(row)
      }),

    scan: (table, range) =>
      track(async () => {
        const { from = '', to, limit, maxBytes, keysOnly = false } = range
        const values = [table.database, table.table, toBound(from), limit]
        if (to !== undefined) values.push(toBound(to))
        if (!keysOnly) values.push(maxBytes)
        const rows = await query(statements.scan(range), values)
        const records = rows.slice(0, limit).map(toRecord)
        const total = keysOnly ? rows.length : Number(rows[0]?.[5] ?? 0)
        return { records, more: total > records.length }
      }),

    commit: (groups, nowMs) => track(() => commit(groups, nowMs)),

    listTables: ({ database, after = BEFORE_ALL, limit }) =>
      track(async () => {
        const rows =
          database === undefined
            ? await query(statements.listTables, [after.database, after.table, limit])
            : await query(statements.listDatabaseTables, [database, after.table, limit])
        return rows.map(toTable)
      }),

    async watch(listener) {
      const { connect } = connections
      const listening = listen({ connect, channel: toChannel(schema), listener, heartbeatMs })
      listeners.add(listening)
      await listening.settled
      return async () => {
        listeners.delete(listening)
        await listening.stop()
      }
    },

    purge: (nowMs, limit) => track(() => purge(nowMs, limit)),

    close() {
      closing ??= close()
      return closing
    },
  }
}

/**
 * PostgreSQL does not support NUL in text, so a bound with NUL is replaced by the next possible
 * key.
 */
function toBound(key: string): string {
  const end = key.indexOf('\0')
  return end < 0 ? key : `${key.slice(0, end)}\u0001`
}

import type {
  StoreAdapter,
  StoreGroup,
  StoreOutcome,
  StorePlace,
} from '../../core/contracts/store.ts'
import { storeUnavailable } from '../../domain/store/errors.ts'
import { NO_STORE_QUOTAS, type StoreQuotas } from '../../domain/store/usage.ts'
import { createConnections } from './postgres/client/connections.ts'
import { parsePostgresUrl } from './postgres/client/url.ts'
import {
  decide,
  evaluateConditions,
  type Known,
  type Plan,
} from './postgres/evaluate-conditions.ts'
import { type Listening, listen } from './postgres/listen.ts'
import { createQuotaCheck } from './postgres/quotas.ts'
import { toKnown, toRecord, toTable } from './postgres/rows.ts'
import { prepareSchema, toChannel } from './postgres/schema.ts'
import { createStatements } from './postgres/statements.ts'
import { toPlaces, writeAlone } from './postgres/write.ts'

export interface PostgresStoreOptions {
  /** As `parsePostgresUrl` has it: `postgres://user:password@host/database?sslmode=verify-full`. */
  readonly url: string
  /** Connections at once, besides one for those who watch. @default 10 */
  readonly maxConnections?: number
  /** Milliseconds until a connection must stand, or be free. @default 5000 */
  readonly connectTimeoutMs?: number
  /** Milliseconds a statement may take, waiting for others who write included. @default 15000 */
  readonly statementTimeoutMs?: number
  /** Milliseconds between two questions whether the server is still there, of whoever watches. @default 10000 */
  readonly heartbeatMs?: number
  /** Told what is dangerous about the server, and when it goes away and comes back. @default process.emitWarning */
  readonly onWarning?: (message: string) => void
  /**
   * Most bytes that records of all gateways take, as quotas count them; writes beyond it fail with 507. A sixteenth more is reserved
   * for accounts, rules, certificates and runtime objects. @default no limit
   */
  readonly maxBytes?: number
  /** @default no limits */
  readonly quotas?: StoreQuotas
}

/** No name is empty. */
const BEFORE_ALL = { database: '', table: '' }

/**
 * Keeps records in PostgreSQL, 12 or newer: any number of gateways share them. What it acknowledged is on the server's disk.
 * Connects when it is first asked, and creates its schema then; while the server is away, everything is 503.
 *
 * @throws {RangeError} when the URL is wrong.
 * @throws {Error} when a file the URL names cannot be read.
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
  const { ask } = connections
  const { maxBytes = Number.POSITIVE_INFINITY, quotas = NO_STORE_QUOTAS } = options
  const quotaCheck = createQuotaCheck({ quotas, maxBytes, statements, ask })
  const underWay = new Set<Promise<unknown>>()
  const listeners = new Set<Listening>()
  let closing: Promise<void> | undefined

  /** Closing waits for it. */
  async function track<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw storeUnavailable(new Error('the store is closed'))
    const working = work()
    underWay.add(working)
    try {
      return await working
    } finally {
      underWay.delete(working)
    }
  }

  async function commit(
    groups: readonly StoreGroup[],
    nowMs: number,
  ): Promise<readonly StoreOutcome[]> {
    const excesses = await quotaCheck.check(groups)
    const fitting = groups.filter((_, index) => excesses[index] === undefined)
    const outcomes = await commitFitting(fitting, nowMs)
    let at = 0
    return excesses.map((excess) => excess ?? outcomes[at++]!)
  }

  async function commitFitting(
    groups: readonly StoreGroup[],
    nowMs: number,
  ): Promise<readonly StoreOutcome[]> {
    const decisive = evaluateConditions(groups)
    const names = [...decisive.keys()]
    const places = [...decisive.values()]
    return await writeAlone(connections, statements, async (on) => {
      const rows = places.length === 0 ? [] : await on(statements.look, toPlaces(places))
      const known = new Map<string, Known>(
        rows.map(([place, expires, version]) => [
          names[Number(place) - 1]!,
          toKnown(expires!, version!),
        ]),
      )
      const { plan, toOutcomes } = decide(groups, decisive, known, nowMs)
      return { plan, toResult: toOutcomes }
    })
  }

  async function purge(nowMs: number, limit: number): Promise<readonly StorePlace[]> {
    return await writeAlone(connections, statements, async (on) => {
      const rows = await on(statements.findExpired, [nowMs, limit])
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
    await Promise.allSettled([...underWay, ...[...listeners].map(({ stop }) => stop())])
    await connections.close()
  }

  return {
    name: 'postgres',

    read: (table, key) =>
      track(async () => {
        const [row] = await ask(statements.read, [table.database, table.table, key])
        return row === undefined ? undefined : toRecord(row)
      }),

    scan: (table, range) =>
      track(async () => {
        const { from = '', to, limit, maxBytes, keysOnly = false } = range
        const values = [table.database, table.table, toBound(from), limit]
        if (to !== undefined) values.push(toBound(to))
        if (!keysOnly) values.push(maxBytes)
        const rows = await ask(statements.scan(range), values)
        const records = rows.slice(0, limit).map(toRecord)
        const total = keysOnly ? rows.length : Number(rows[0]?.[5] ?? 0)
        return { records, more: total > records.length }
      }),

    commit: (groups, nowMs) => track(() => commit(groups, nowMs)),

    listTables: ({ database, after = BEFORE_ALL, limit }) =>
      track(async () => {
        const rows =
          database === undefined
            ? await ask(statements.listTables, [after.database, after.table, limit])
            : await ask(statements.listTablesOf, [database, after.table, limit])
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

/** PostgreSQL has no NUL. Where one is, keys behind are those from the next character on: the first that they may have. */
function toBound(key: string): string {
  const end = key.indexOf('\0')
  return end < 0 ? key : `${key.slice(0, end)}\u0001`
}

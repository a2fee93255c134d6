import { Socket } from 'node:net'
import type { Client, ClientBase, CustomTypesConfig, Pool, PoolClient } from 'pg'
import { storeUnavailable } from '../../../../domain/store/errors.ts'
import { createBackOff } from '../../../../lib/async/backoff.ts'
import { isSqlError, toStoreError } from '../errors.ts'
import type { Statement } from '../statements.ts'
import { type Timeouts, toClientConfig } from './client-config.ts'
import { toSafeClient } from './safe-client.ts'
import { prepareSession } from './session.ts'
import { createSlots } from './slots.ts'
import type { PostgresAddress } from './url.ts'

export interface ConnectionOptions extends Timeouts {
  readonly address: PostgresAddress
  readonly maxConnections: number
  /** Runs once on the first connection, before other statements, and again after a failure. */
  readonly prepare: (client: ClientBase) => Promise<void>
  /** Called at the start and end of an outage. */
  readonly onWarning: (message: string) => void
}

export type Row = readonly (string | null)[]
/** Runs a statement. Values are returned in PostgreSQL's text format. */
export type RunStatement = (
  statement: Statement,
  values: readonly unknown[],
) => Promise<readonly Row[]>

export interface DedicatedConnection {
  readonly client: Client
  /** Closes the connection without a handshake. */
  readonly end: () => void
}

/** A bounded connection pool. Errors are converted as specified by the store contract. */
export interface Connections {
  /** Runs a statement on any connection. */
  readonly runStatement: RunStatement
  /** Runs statements in one transaction. */
  readonly transact: <T>(work: (runStatement: RunStatement) => Promise<T>) => Promise<T>
  /** Opens a dedicated connection. */
  readonly connect: () => Promise<DedicatedConnection>
  /** Closes idle connections gracefully and aborts all other connections. */
  readonly close: () => Promise<void>
}

/** Maximum number of queued calls. */
const MAX_WAITING = 10_000
const IDLE_MS = 60_000
/** Timeout of a graceful close. */
const CLOSE_MS = 1000
const AS_TEXT: CustomTypesConfig = { getTypeParser: () => (text: string) => text }

export function createConnections(options: ConnectionOptions): Connections {
  const { address, maxConnections, connectTimeoutMs, prepare, onWarning } = options
  const config = toClientConfig(address, options)
  const sockets = new Set<Socket>()
  const backOff = createBackOff()
  const slots = createSlots(maxConnections, MAX_WAITING, connectTimeoutMs)
  let pool: Promise<Pool> | undefined
  let preparing: Promise<void> | undefined
  let isPrepared = false
  let closed = false
  /** Number of open connections. */
  let openCount = 0
  /** Time at which the back-off ends, and the error that started it. */
  let retryAtMs = 0
  let reason: unknown
  /** Whether the server has ever been reachable. A failed start reports its error itself. */
  let wasReachable = false
  /** Start of the outage. */
  let downSinceMs: number | undefined

  async function open(): Promise<Pool> {
    const { default: pg } = await import('pg')
    const opened = new pg.Pool({
      ...config,
      Client: toSafeClient(pg.Client, config),
      max: maxConnections,
      idleTimeoutMillis: IDLE_MS,
      stream() {
        const socket = new Socket()
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        return socket
      },
      async onConnect(client) {
        // The caller also receives the error. Without a listener, the process would exit.
        client.on('error', () => {})
        openCount++
        client.once('end', () => {
          openCount--
        })
        await prepareSession(client)
      },
    })
    opened.on('error', () => {})
    return opened
  }

  async function checkOut(): Promise<PoolClient> {
    if (closed) throw new Error('the store is closed')
    if (performance.now() < retryAtMs) throw reason
    pool ??= open()
    const opened = await pool
    try {
      const client = await opened.connect()
      backOff.reset()
      reportRecovery()
      return client
    } catch (error) {
      // While connections are open, this is not an outage. Concurrent failures count as one.
      if (openCount === 0 && performance.now() >= retryAtMs) {
        retryAtMs = performance.now() + backOff.next()
        reportOutage(error)
      }
      reason = error
      throw error
    }
  }

  function reportOutage(error: unknown): void {
    if (!wasReachable || closed || downSinceMs !== undefined) return
    downSinceMs = performance.now()
    onWarning(`PostgreSQL is unreachable; store calls fail with 503: ${toText(error)}`)
  }

  function reportRecovery(): void {
    wasReachable = true
    if (downSinceMs === undefined) return
    const seconds = Math.round((performance.now() - downSinceMs) / 1000)
    downSinceMs = undefined
    onWarning(`PostgreSQL is reachable again after ${seconds} s`)
  }

  /** Concurrent first calls share one preparation. */
  async function prepareOnce(client: ClientBase): Promise<void> {
    preparing ??= prepare(client).then(
      () => {
        isPrepared = true
      },
      (error: unknown) => {
        preparing = undefined
        throw error
      },
    )
    await preparing
  }

  async function use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient | undefined
    try {
      await slots.acquire()
    } catch (error) {
      throw storeUnavailable(error)
    }
    try {
      client = await checkOut()
      if (!isPrepared) await prepareOnce(client)
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      // A SQL error leaves the connection in a known state.
      client?.release(!isSqlError(error))
      throw toStoreError(error)
    } finally {
      slots.release()
    }
  }

  return {
    runStatement: (statement, values) => use((client) => runOn(client, statement, values)),

    transact: (work) =>
      use(async (client) => {
        await client.query('BEGIN')
        try {
          const result = await work((statement, values) => runOn(client, statement, values))
          await client.query('COMMIT')
          return result
        } catch (error) {
          // If the rollback fails, the connection is lost and the transaction is aborted.
          await client.query('ROLLBACK').catch(() => {})
          throw error
        }
      }),

    async connect() {
      if (closed) throw storeUnavailable(new Error('the store is closed'))
      const { default: pg } = await import('pg')
      const socket = new Socket()
      const SafeClient = toSafeClient(pg.Client, config)
      const client = new SafeClient({ ...config, stream: () => socket })
      client.on('error', () => {})
      try {
        await client.connect()
        return { client, end: () => socket.destroy() }
      } catch (error) {
        socket.destroy()
        throw toStoreError(error)
      }
    },

    async close() {
      closed = true
      const opened = await pool
      if (opened === undefined) return
      // An unresponsive server does not close connections.
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_MS)
      await opened.end()
      clearTimeout(timer)
    },
  }
}

/** A failure to connect to several addresses has a code but no message. */
function toText(error: unknown): string {
  const { message, code } = error as { readonly message?: string; readonly code?: string }
  return message || code || 'no response'
}

async function runOn(
  client: ClientBase,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const { rows } = await client.query<(string | null)[]>({
    name,
    text,
    values: [...values],
    rowMode: 'array',
    types: AS_TEXT,
  })
  return rows
}

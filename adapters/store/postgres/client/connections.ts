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
  /** Run once, on the first connection, before anything else; again when it failed. */
  readonly prepare: (client: ClientBase) => Promise<void>
  /** Told once when a server that was there takes no connection any more, and once when it does again. */
  readonly onWarning: (message: string) => void
}

export type Row = readonly (string | null)[]
/** Runs a statement; rows come as the texts PostgreSQL writes. */
export type RunStatement = (
  statement: Statement,
  values: readonly unknown[],
) => Promise<readonly Row[]>

export interface DedicatedConnection {
  readonly client: Client
  /** Cuts it off. */
  readonly end: () => void
}

/** Connections to the server, bounded in number, each and all in time. Whatever fails is thrown as the contract of stores has it. */
export interface Connections {
  /** Asks on any connection. */
  readonly ask: RunStatement
  /** Asks in one transaction. */
  readonly transact: <T>(work: (ask: RunStatement) => Promise<T>) => Promise<T>
  /** A connection for whoever asked for it alone. */
  readonly connect: () => Promise<DedicatedConnection>
  /** Ends what is not in use. What is, is cut off. */
  readonly close: () => Promise<void>
}

/** Most who wait for a connection. */
const MAX_WAITING = 10_000
const IDLE_MS = 60_000
/** How long saying good-bye may take. */
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
  /** Connections that stand. */
  let standing = 0
  /** Until when the server is left alone, and why. */
  let retryAtMs = 0
  let reason: unknown
  /** Whether the server was ever there: a start that fails tells why by itself. */
  let wasThere = false
  /** Since when the server is away; undefined: it is not. */
  let downForMs: number | undefined

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
        // Whoever waits for an answer is told, too; without a listener the process would end.
        client.on('error', () => {})
        standing++
        client.once('end', () => {
          standing--
        })
        await prepareSession(client)
      },
    })
    opened.on('error', () => {})
    return opened
  }

  async function take(): Promise<PoolClient> {
    if (closed) throw new Error('the store is closed')
    if (performance.now() < retryAtMs) throw reason
    pool ??= open()
    const opened = await pool
    try {
      const client = await opened.connect()
      backOff.reset()
      tellBack()
      return client
    } catch (error) {
      // Where others stand, the server is not away; those that fail together count as one.
      if (standing === 0 && performance.now() >= retryAtMs) {
        retryAtMs = performance.now() + backOff.next()
        tellAway(error)
      }
      reason = error
      throw error
    }
  }

  function tellAway(error: unknown): void {
    if (!wasThere || closed || downForMs !== undefined) return
    downForMs = performance.now()
    onWarning(`PostgreSQL is away, calls of the store are 503 until it is back: ${toText(error)}`)
  }

  function tellBack(): void {
    wasThere = true
    if (downForMs === undefined) return
    const seconds = Math.round((performance.now() - downForMs) / 1000)
    downForMs = undefined
    onWarning(`PostgreSQL is back after ${seconds} s`)
  }

  /** Those who come first wait until one of them has prepared. */
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
      await slots.take()
    } catch (error) {
      throw storeUnavailable(error)
    }
    try {
      client = await take()
      if (!isPrepared) await prepareOnce(client)
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      // After an error of SQL alone it is known in what state the connection is.
      client?.release(!isSqlError(error))
      throw toStoreError(error)
    } finally {
      slots.release()
    }
  }

  return {
    ask: (statement, values) => use((client) => askOn(client, statement, values)),

    transact: (work) =>
      use(async (client) => {
        await client.query('BEGIN')
        try {
          const result = await work((statement, values) => askOn(client, statement, values))
          await client.query('COMMIT')
          return result
        } catch (error) {
          // Where this fails the connection is lost, and the transaction with it.
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
      // A server that does not answer does not end connections either.
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_MS)
      await opened.end()
      clearTimeout(timer)
    },
  }
}

/** Of several addresses that refuse, an error has no words but a code. */
function toText(error: unknown): string {
  const { message, code } = error as { readonly message?: string; readonly code?: string }
  return message || code || 'it does not answer'
}

async function askOn(
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

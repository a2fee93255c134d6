import type { ClientConfig } from 'pg'
import { toTls } from './tls.ts'
import type { PostgresAddress } from './url.ts'

/** How long things may take, milliseconds. */
export interface Timeouts {
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
}

/** Silence of the server after which the system looks whether it is still there. */
const KEEP_ALIVE_MS = 10_000
/** What a reply may take longer than the server allows itself: then it does not answer at all. */
const GRACE_MS = 2000

/**
 * What the library is told of the server, and of who comes.
 *
 * @throws {Error} when a file of the TLS options cannot be read.
 */
export function toClientConfig(
  address: PostgresAddress,
  { connectTimeoutMs, statementTimeoutMs }: Timeouts,
): ClientConfig {
  const { host, port, database, user, password } = address
  return {
    host,
    port,
    database,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ssl: toTls(address),
    application_name: 'mx',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // Others wait for the lock it may hold, and are not to run out of time.
    idle_in_transaction_session_timeout: Math.ceil(statementTimeoutMs / 3),
    query_timeout: statementTimeoutMs + GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

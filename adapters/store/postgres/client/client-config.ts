import type { ClientConfig } from 'pg'
import { toTls } from './tls.ts'
import type { PostgresAddress } from './url.ts'

/** Timeouts in milliseconds. */
export interface Timeouts {
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
}

/** Idle time before TCP keep-alive probes. */
const KEEP_ALIVE_MS = 10_000
/**
 * Grace period after the server-side timeout, after which the server is considered unresponsive.
 */
const GRACE_MS = 2000

/**
 * Returns the configuration of the client library.
 *
 * @throws {Error} if a TLS file cannot be read.
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
    // Shorter than the statement timeout of other clients waiting for the lock of the transaction.
    idle_in_transaction_session_timeout: Math.ceil(statementTimeoutMs / 3),
    query_timeout: statementTimeoutMs + GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  }
}

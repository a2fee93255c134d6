import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type SecureContext,
} from 'node:tls'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { toConnectError, toPermissionError } from './errors.ts'
import { probeNats } from './probe.ts'
import { formatNatsHost, type NatsAddress, type NatsHost } from './url.ts'

type Tls = NonNullable<NodeConnectionOptions['tls']>

export interface ConnectOptions {
  /** Timeout of each step in milliseconds. */
  readonly timeoutMs: number
  /** Ping interval in milliseconds; the connection is lost after two unanswered pings. */
  readonly pingMs: number
  /** Aborts the attempt. */
  readonly signal: AbortSignal
}

/**
 * Connects once to one server. The library does not reconnect if the connection breaks.
 *
 * @throws {Error} see `toConnectError`.
 */
export async function connectNats(
  address: NatsAddress,
  host: NatsHost,
  { timeoutMs, pingMs, signal }: ConnectOptions,
): Promise<NatsConnection> {
  const { secure, user, password, token } = address
  const { ip, info } = await probeNats(host, timeoutMs, signal)
  if (info.headers !== true)
    throw toPermissionError('the server does not support headers: NATS 2.2 or later is required')
  if (secure && info.tls_required !== true && info.tls_available !== true)
    throw toPermissionError('TLS is not supported; did you mean nats://?')
  if (!secure && info.tls_required === true)
    throw toPermissionError('TLS is required; did you mean tls://?')
  const tls = secure ? await readTls(address, host) : null
  const { connect } = await import('@nats-io/transport-node')
  try {
    return await connect({
      servers: formatNatsHost({ host: ip, port: host.port }),
      name: 'mx',
      reconnect: false,
      ignoreClusterUpdates: true,
      noAsyncTraces: true,
      timeout: timeoutMs,
      pingInterval: pingMs,
      maxPingOut: 2,
      tls,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { pass: password }),
      ...(token !== undefined && { token }),
    })
  } catch (error) {
    throw toConnectError(error)
  }
}

/** The library passes all options to node:tls. */
async function readTls(address: NatsAddress, { host }: NatsHost): Promise<Tls> {
  const options: ConnectionOptions = {
    secureContext: await readCertificates(address),
    ...(isIP(host) === 0 && { servername: host }),
    // Verifies the configured host name, because the library only receives the IP address.
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
  }
  return options as Tls
}

async function readCertificates({
  caFile,
  certFile,
  keyFile,
}: NatsAddress): Promise<SecureContext> {
  const [ca, cert, key] = await Promise.all([
    readPem('ca', caFile),
    readPem('cert', certFile),
    readPem('key', keyFile),
  ])
  try {
    return createSecureContext({ ca, cert, key })
  } catch (cause) {
    throw toPermissionError(`invalid certificates: ${(cause as Error).message}`, cause)
  }
}

async function readPem(what: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw toPermissionError(`cannot read the ${what} file: ${(cause as Error).message}`, cause)
  }
}

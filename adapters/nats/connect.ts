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
  /** Milliseconds each step may take. */
  readonly timeoutMs: number
  /** Milliseconds between two questions whether the server is still there; it is gone after two without an answer. */
  readonly pingMs: number
  /** Gives the attempt up. */
  readonly signal: AbortSignal
}

/**
 * Connects to one of the servers, once. The connection ends when it breaks: the library does not connect again.
 *
 * @throws {Error} why there is none, as `toConnectError` has it.
 */
export async function connectNats(
  address: NatsAddress,
  host: NatsHost,
  { timeoutMs, pingMs, signal }: ConnectOptions,
): Promise<NatsConnection> {
  const { secure, user, password, token } = address
  const { ip, info } = await probeNats(host, timeoutMs, signal)
  if (info.headers !== true)
    throw toPermissionError('it takes no headers: NATS 2.2 or newer is needed')
  if (secure && info.tls_required !== true && info.tls_available !== true)
    throw toPermissionError('it speaks no TLS; was nats:// meant?')
  if (!secure && info.tls_required === true)
    throw toPermissionError('it requires TLS; was tls:// meant?')
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

/** The library hands all of it to node:tls. */
async function readTls(address: NatsAddress, { host }: NatsHost): Promise<Tls> {
  const options: ConnectionOptions = {
    secureContext: await readCertificates(address),
    ...(isIP(host) === 0 && { servername: host }),
    // The name as it was given: the library knows the address alone.
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
    throw toPermissionError(`its certificates cannot be used: ${(cause as Error).message}`, cause)
  }
}

async function readPem(what: string, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw toPermissionError(`cannot read its ${what}: ${(cause as Error).message}`, cause)
  }
}

import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIPv6, type Socket } from 'node:net'

/** Address and credentials of a Consul agent. */
export interface ConsulAddress {
  /** @default 127.0.0.1 */
  readonly host?: string
  /** @default 8500, or 8501 with `secure` */
  readonly port?: number
  /** Whether to use HTTPS. @default false */
  readonly secure?: boolean
  /** ACL token. */
  readonly token?: string
  /**
   * PEM file with trusted certificate authorities.
   *
   * @default the certificate authorities of Node.js
   */
  readonly caFile?: string
  /** PEM file of the client certificate. */
  readonly certFile?: string
  /** PEM file of the client key. */
  readonly keyFile?: string
  /** @default the datacenter of the agent */
  readonly datacenter?: string
}

/** Idle time in milliseconds before TCP keep-alive probes. */
const PROBE_MS = 10_000
/** Shared by all connections. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * Creates a limited keep-alive pool of connections to a Consul agent.
 *
 * @param onLost called when the peer closes a reused connection.
 * @throws {Error} if a TLS file cannot be read.
 */
export function createAgent(
  address: ConsulAddress,
  maxSockets: number,
  onLost: () => void = () => {},
): http.Agent {
  const { host = '', secure = false } = address
  const tracked = new WeakSet<Socket>()
  const agent = new (secure ? https : http).Agent({
    keepAlive: true,
    maxSockets,
    maxFreeSockets: maxSockets,
    keepAliveMsecs: PROBE_MS,
    ...(secure && readTls(address)),
    // The library does not remove the brackets of an IPv6 address, which would then be resolved by
    // DNS.
    ...(isIPv6(host) && { host }),
  })
  shareReads(agent)
  const idle = new WeakSet<object>()
  const { reuseSocket } = agent
  agent.reuseSocket = (socket, request) => {
    idle.delete(socket)
    reuseSocket.call(agent, socket, request)
  }
  let isDestroyed = false
  const { destroy } = agent
  agent.destroy = () => {
    isDestroyed = true
    destroy.call(agent)
  }
  agent.on('free', (socket: Socket) => {
    // A socket that is immediately assigned to a queued request is not idle.
    if (Object.values(agent.freeSockets).some((sockets) => sockets?.includes(socket)))
      idle.add(socket)
    if (tracked.has(socket)) return
    tracked.add(socket)
    let isReported = false
    const report = (): void => {
      if (!isReported && !isDestroyed) onLost()
      isReported = true
    }
    socket.once('end', report)
    socket.once('close', (hadError) => {
      // Node.js 22 and later silently destroy an idle socket that receives a response without a
      // request.
      if (hadError || idle.has(socket)) report()
    })
  })
  return agent
}

/**
 * Reads all connections of an agent into one buffer, because the parser copies data before the next
 * read. Node.js would allocate 64 KiB per read, which with thousands of responses stays allocated
 * until garbage collection.
 */
function shareReads(agent: http.Agent): void {
  const connect = agent.createConnection
  agent.createConnection = (options, done) => {
    const onread = {
      buffer: READ_BUFFER,
      callback(length: number): boolean {
        if (socket.emit('data', READ_BUFFER.subarray(0, length))) return true
        // A response without a request must not be taken for the response to the next request.
        socket.destroy()
        return true
      },
    }
    const socket = connect.call(agent, { ...options, onread } as http.ClientRequestArgs, done)!
    return socket
  }
}

function readTls({ caFile, certFile, keyFile }: ConsulAddress): https.AgentOptions {
  const files = { ca: caFile, cert: certFile, key: keyFile }
  const configured = Object.entries(files).filter(([, file]) => file !== undefined && file !== '')
  return Object.fromEntries(configured.map(([key, file]) => [key, readFile(key, file!)]))
}

function readFile(what: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(`cannot read the ${what} file for Consul: ${(cause as Error).message}`, {
      cause,
    })
  }
}

import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIPv6, type Socket } from 'node:net'

/** Where a Consul agent is and how to talk to it. */
export interface ConsulAddress {
  /** @default 127.0.0.1 */
  readonly host?: string
  /** @default 8500, with `secure` 8501 */
  readonly port?: number
  /** HTTPS. @default false */
  readonly secure?: boolean
  /** ACL token. */
  readonly token?: string
  /** PEM file of the authorities that are trusted. @default those of Node.js */
  readonly caFile?: string
  /** PEM file of the client's certificate. */
  readonly certFile?: string
  /** PEM file of the certificate's key. */
  readonly keyFile?: string
  /** @default the agent's own */
  readonly datacenter?: string
}

/** How long after the last byte the other side of a connection is looked for, milliseconds. */
const PROBE_MS = 10_000
/** Of all connections. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * The connections to a Consul agent, kept and bounded.
 *
 * @param onLost told when one that was kept is ended by the other side.
 * @throws {Error} when a file of the TLS options cannot be read.
 */
export function createAgent(
  address: ConsulAddress,
  maxSockets: number,
  onLost: () => void = () => {},
): http.Agent {
  const { host = '', secure = false } = address
  const known = new WeakSet<Socket>()
  const agent = new (secure ? https : http).Agent({
    keepAlive: true,
    maxSockets,
    maxFreeSockets: maxSockets,
    keepAliveMsecs: PROBE_MS,
    ...(secure && readTls(address)),
    // The library leaves an IPv6 address in its brackets, and would ask the DNS for it.
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
    // One that a waiting request gets at once is not idle.
    if (Object.values(agent.freeSockets).some((sockets) => sockets?.includes(socket)))
      idle.add(socket)
    if (known.has(socket)) return
    known.add(socket)
    let isReported = false
    const report = (): void => {
      if (!isReported && !isDestroyed) onLost()
      isReported = true
    }
    socket.once('end', report)
    socket.once('close', (hadError) => {
      // Node.js from 22 on destroys an idle socket that receives a response without a request, without an error.
      if (hadError || idle.has(socket)) report()
    })
  })
  return agent
}

/**
 * Has the connections of an agent read into the same memory: the parser copies what it takes from a read before the next one. By
 * itself Node.js takes 64 KiB for each read, however little comes, and of thousands of answers that lies around until it is collected.
 */
function shareReads(agent: http.Agent): void {
  const connect = agent.createConnection
  agent.createConnection = (options, done) => {
    const onread = {
      buffer: READ_BUFFER,
      callback(length: number): boolean {
        if (socket.emit('data', READ_BUFFER.subarray(0, length))) return true
        // A response without a request must not become the response of the next request.
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
  const given = Object.entries(files).filter(([, file]) => file !== undefined && file !== '')
  return Object.fromEntries(given.map(([key, file]) => [key, readFile(key, file!)]))
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

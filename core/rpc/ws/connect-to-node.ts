import type { LookupFunction, Socket } from 'node:net'
import type { ClientOptions } from 'ws'
import { WebSocket } from '../../../lib/net/ws.ts'
import { toConnectDetail } from '../../upstream/connect-error.ts'
import { toTlsOptions, type UpstreamTls } from '../../upstream/tls.ts'
import { RPC_PATH, SUBPROTOCOL, WS_MESSAGE_MAX_BYTES } from './frames.ts'

/** Address and connection options of a node. */
export interface NodeConnectOptions {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** TLS. @default false */
  readonly secure?: boolean
  /** DNS lookup. @default the system resolver */
  readonly lookup?: LookupFunction | undefined
  /** Trusted certificates in PEM. @default the system's certificates */
  readonly ca?: string
  /** Replaces `ca`. @default none */
  readonly tls?: UpstreamTls | undefined
  /** @default '/.mx/rpc' */
  readonly path?: string
  /** Timeout for connecting, including TLS and WebSocket handshakes, in milliseconds. @default 5000 */
  readonly connectTimeoutMs?: number
}

/** Exactly one of the callbacks is called, asynchronously. */
export interface ConnectListener {
  readonly onOpen: (tcp: Socket) => void
  /** `foreign`: the node does not speak the protocol. */
  readonly onFailed: (detail: string, kind: 'connect' | 'foreign') => void
}

/** Time for a node to close the TCP connection after both close frames, in milliseconds. */
const CLOSE_TIMEOUT_MS = 10_000
/** TCP keep-alive delay of a connection in milliseconds. */
const KEEP_ALIVE_MS = 30_000

/** Opens a WebSocket to a node (docs/protocol.md §2). */
export function connectToNode(
  options: NodeConnectOptions,
  address: string,
  owner: ConnectListener,
): WebSocket {
  const { secure = false, path = RPC_PATH, ca, tls, lookup, connectTimeoutMs = 5000 } = options
  const wsOptions: ClientOptions & { closeTimeout: number } = {
    perMessageDeflate: false,
    skipUTF8Validation: true,
    maxPayload: WS_MESSAGE_MAX_BYTES,
    closeTimeout: CLOSE_TIMEOUT_MS,
    // With a zero key, the library leaves payloads unmasked (docs/protocol.md §2.1).
    generateMask: (mask) => mask.fill(0),
    ...(ca === undefined ? {} : { ca }),
    ...(lookup && { lookup }),
    ...(tls && toTlsOptions(tls, options.host)),
  }
  const scheme = secure ? 'wss' : 'ws'
  const socket = new WebSocket(`${scheme}://${address}${path}`, [SUBPROTOCOL], wsOptions)
  let tcp: Socket | undefined
  let fault = ''
  let isUntyped = false
  const timer = setTimeout(() => {
    fault = `no response within ${connectTimeoutMs} ms`
    socket.terminate()
  }, connectTimeoutMs)
  const onError = (error: Error): void => {
    // Later errors are consequences of the first.
    fault ||= toConnectDetail(error)
    // Not HTTP, or an upgrade to another protocol.
    isUntyped ||=
      tcp !== undefined || (error as NodeJS.ErrnoException).code?.startsWith('HPE_') === true
  }
  const onClose = (): void => {
    clearTimeout(timer)
    owner.onFailed(`no connection to ${address}: ${fault}`, isUntyped ? 'foreign' : 'connect')
  }
  socket.on('error', onError)
  socket.on('close', onClose)
  socket.on('unexpected-response', (_request, { statusCode = 0 }) => {
    fault ||= `the WebSocket handshake failed with status ${statusCode}`
    // Servers that support few methods respond to a GET with 501; other 5xx may be temporary.
    isUntyped ||= statusCode < 500 || statusCode === 501
    socket.terminate()
  })
  socket.on('upgrade', (reply) => {
    tcp = reply.socket
    tcp.setKeepAlive(true, KEEP_ALIVE_MS)
  })
  socket.on('open', () => {
    clearTimeout(timer)
    socket.off('error', onError)
    socket.off('close', onClose)
    owner.onOpen(tcp!)
  })
  return socket
}

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { rejectMethod } from '../../http/methods.ts'
import { toListenError } from '../errors.ts'
import { createPrefaceReader } from '../http2/preface.ts'
import { HEADER_MAX_BYTES, HEADER_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS } from '../limits.ts'
import type { CreateListener, Listener, ListenerOptions } from '../listener.ts'
import { RequestValidator } from '../request-validator.ts'
import { addClientCert, isClientRejected } from '../tls/client-cert.ts'
import { validateHandshake } from '../websocket/handshake.ts'
import { MESSAGE_MAX_BYTES } from '../websocket/session.ts'
import { TunnelStream } from '../websocket/tunnel-stream.ts'
import { NodeConnection } from './connection.ts'
import { tooLargeHead } from './errors.ts'
import { NodeExchange } from './exchange.ts'
import { createTlsServer } from './tls.ts'

/** Interval of checks for slow heads. */
const TIMEOUT_CHECK_MS = 1000
/** Interval of checks for idle connections. */
const SWEEP_MS = 5000
/** Time that `close` waits for pending writes before it destroys connections. */
const CLOSE_TIMEOUT_MS = 1000

/** RFC 9112 §3.2.2: a target with scheme and authority. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i

const SERVER_OPTIONS: ServerOptions = {
  insecureHTTPParser: false,
  // The validator checks Host, and responds with the gateway's error body.
  requireHostHeader: false,
  maxHeaderSize: HEADER_MAX_BYTES,
  headersTimeout: HEADER_TIMEOUT_MS,
  // A body may take any amount of time if it keeps arriving.
  requestTimeout: 0,
  connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  noDelay: true,
}

/**
 * Listener on node:http and node:http2 for HTTP/1.1, WebSocket and HTTP/2, plain or TLS. Runs on all platforms and has
 * the strictest parser.
 */
export const createNodeListener: CreateListener = async (options: ListenerOptions) => {
  const {
    tls,
    clientCa,
    handle,
    clientKeepAliveMs = KEEP_ALIVE_TIMEOUT_MS,
    maxMessageBytes = MESSAGE_MAX_BYTES,
    http2: http2Mode = 'tls',
  } = options
  const serverOptions = { ...SERVER_OPTIONS, keepAliveTimeout: clientKeepAliveMs }
  const secure = tls !== undefined
  const hasHttp2 = http2Mode === 'cleartext' || (secure && http2Mode === 'tls')
  const { server, release } =
    tls === undefined
      ? { server: createServer(serverOptions), release: () => {} }
      : createTlsServer(serverOptions, tls, hasHttp2, clientCa)
  const event = secure ? 'secureConnection' : 'connection'
  const sockets = new Set<Socket>()
  const connections = new Map<Duplex, NodeConnection>()
  const guard = new RequestValidator(options.internalHeaders, options.encodedSlashes)
  let draining = false
  let keepsIdle = false

  // node:http silently drops headers above its limit, which may include a Content-Length.
  server.maxHeadersCount = 0
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections

  server.on('connection', (socket: Socket) => {
    if (sockets.has(socket)) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const [serveHttp1] = server.listeners(event) as [(socket: Socket) => void]
  const admit = (socket: Socket): void => {
    const connection = new NodeConnection(socket, handle, maxMessageBytes, clientKeepAliveMs)
    connections.set(socket, connection)
    socket.once('close', () => connections.delete(socket))
    if (draining) connection.drain(keepsIdle)
    serveHttp1.call(server, socket)
  }
  // Loaded only if HTTP/2 is served.
  const http2 = hasHttp2
    ? (await import('../http2/listener.ts')).createHttp2({
        guard,
        secure,
        handle,
        keepAliveMs: clientKeepAliveMs,
      })
    : undefined
  const preface =
    http2 === undefined || secure ? undefined : createPrefaceReader(admit, http2.accept)
  server.off(event, serveHttp1)
  server.on(event, (socket: Socket) => {
    if (preface !== undefined) preface.accept(socket)
    else if (clientCa?.isOptional && isClientRejected(socket)) socket.destroy()
    else if ((socket as TLSSocket).alpnProtocol === 'h2') http2?.accept(socket)
    else admit(socket)
  })

  const serve = (req: IncomingMessage, res: ServerResponse, expecting: boolean): void => {
    const connection = connections.get(req.socket)
    if (connection === undefined || !connection.open) return
    const { path, query, malformed } = capture(req, guard)
    addClientCert(guard.headers, connection.clientCert)
    const request = {
      req,
      res,
      path,
      query,
      secure,
      expecting,
      stream: undefined,
    }
    connection.serve(new NodeExchange(connection, request, guard, malformed))
  }

  server.on('request', (req, res) => serve(req, res, false))
  server.on('checkContinue', (req, res) => serve(req, res, true))
  // RFC 9110 §10.1.1 allows ignoring other expectations.
  server.on('checkExpectation', (req, res) => serve(req, res, false))
  server.on('connect', (req: IncomingMessage) => {
    connections.get(req.socket)?.reject(rejectMethod('CONNECT'))
  })
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    const connection = connections.get(socket)
    if (connection === undefined || !connection.open) return
    const { path, query, malformed } = capture(req, guard)
    // RFC 9110 §7.8: HTTP/1.0 has no Upgrade.
    if (!guard.websocket || req.method !== 'GET' || req.httpVersionMinor === 0) {
      unshiftRequest(req, head)
      serveHttp1.call(server, req.socket)
      return
    }
    if (connection.busy) {
      connection.reject(new GatewayError(GATEWAY_ID, 400, 'a WebSocket must not be pipelined'))
      return
    }
    addClientCert(guard.headers, connection.clientCert)
    const error =
      malformed ??
      validateHandshake(guard.headers, guard.bodyLength) ??
      (draining ? new GatewayError(GATEWAY_ID, 503, 'shutting down') : undefined)
    const stream = new TunnelStream(req.socket, head)
    const request = {
      req,
      res: undefined,
      path,
      query,
      secure,
      expecting: false,
      stream,
    }
    connection.serve(new NodeExchange(connection, request, guard, error))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const connection = connections.get(socket)
    const isClosed = error.code === 'ECONNRESET' || error.code === 'HPE_INVALID_EOF_STATE'
    if (connection === undefined || isClosed) socket.destroy()
    else connection.reject(toParseError(error))
  })

  await listen(server, options)
  const sweeper = setInterval(() => {
    for (const connection of connections.values()) connection.sweep(clock.nowMs)
  }, SWEEP_MS).unref()
  const bound = server.address() as AddressInfo | string
  const port = typeof bound === 'string' ? 0 : bound.port
  // Emitted once the port and all connections are closed. Subscribed here because it may fire before the last socket
  // has left `sockets`.
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  const drain = (keepIdle = false): void => {
    if (draining) return
    draining = true
    keepsIdle = keepIdle
    // Closes only the port: `close` in node:http also ends connections whose last response is pending.
    NetServer.prototype.close.call(server)
    for (const connection of connections.values()) connection.drain(keepIdle)
    if (!keepIdle) preface?.drain()
    http2?.drain(keepIdle)
  }
  const listener: Listener = {
    name: 'node',
    port,
    get connections() {
      return sockets.size
    },
    drain,
    closeTunnels() {
      for (const connection of connections.values()) connection.endTunnel()
    },
    async close() {
      release()
      drain()
      for (const connection of connections.values()) connection.end()
      http2?.close()
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, CLOSE_TIMEOUT_MS)
      await closed
      clearTimeout(timer)
      clearInterval(sweeper)
      // Ends the timer of the checks for slow heads.
      server.close()
    },
  }
  return listener
}

/** Reads a request into `guard` and validates it. */
function capture(
  req: IncomingMessage,
  guard: RequestValidator,
): { path: string; query: string; malformed: GatewayError | undefined } {
  const { rawHeaders } = req
  const method = req.method ?? ''
  let target = req.url ?? ''
  let authority: string | undefined
  let bytes = method.length + target.length + 12
  const absolute = target.startsWith('/') ? null : ABSOLUTE_FORM.exec(target)
  if (absolute !== null) {
    authority = absolute[1]!
    target = absolute[2]!.startsWith('/') ? absolute[2]! : `/${absolute[2]}`
  }
  guard.reset()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    const value = rawHeaders[i + 1]!
    bytes += name.length + value.length + 4
    guard.addBytes(name, name === 'host' && authority !== undefined ? authority : value)
  }
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  // RFC 9112 §3.2.4: the target is the server as a whole.
  const isAsterisk = path === '*' && method === 'OPTIONS'
  let malformed = guard.validate(method, isAsterisk ? '/' : path, query)
  if (bytes > HEADER_MAX_BYTES) malformed = tooLargeHead()
  // llhttp also accepts 0.9 and 2.0.
  else if (req.httpVersionMajor !== 1) malformed = wrongVersion()
  else if (guard.bodyLength < 0 && req.httpVersionMinor === 0) {
    malformed = new GatewayError(GATEWAY_ID, 400, 'Transfer-Encoding is not supported in HTTP/1.0')
  }
  return { path, query, malformed }
}

/**
 * Puts a request back into its socket without its `Upgrade` header (RFC 9110 §7.8). node:http stops parsing after the
 * head, so the head must be parsed again.
 */
function unshiftRequest(req: IncomingMessage, head: Buffer): void {
  const { rawHeaders, socket } = req
  const lines = [`${req.method} ${req.url} HTTP/1.${req.httpVersionMinor}`]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== 'upgrade')
      lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
}

function toParseError(error: NodeJS.ErrnoException): GatewayError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return tooLargeHead()
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError(GATEWAY_ID, 408, 'the request head arrived too slowly')
    case 'HPE_INVALID_VERSION':
      return wrongVersion()
    default:
      return new GatewayError(GATEWAY_ID, 400, 'malformed request')
  }
}

function wrongVersion(): GatewayError {
  return new GatewayError(GATEWAY_ID, 505, 'HTTP version must be 1.0 or 1.1')
}

function listen(
  server: Server,
  { host, port, path, shared = false }: ListenerOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const addressText = path === undefined ? `${host}:${port}` : `unix:${path}`
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(toListenError(error, addressText)),
    )
    server.listen(
      { ...(path === undefined ? { host, port } : { path }), exclusive: !shared },
      resolve,
    )
  })
}

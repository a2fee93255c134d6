import { createRequire } from 'node:module'
import { isPrintable } from '../header-value.ts'
import type { CreateListener, Listener, ListenerOptions } from '../listener.ts'
import { PeerAddresses } from '../peer-addresses.ts'
import { probePort } from '../probe-port.ts'
import { RequestValidator } from '../request-validator.ts'
import { MESSAGE_MAX_BYTES } from '../websocket/session.ts'
import { type Life, UwsExchange } from './exchange.ts'
import { resumeReading } from './pause.ts'
import { type AppSetup, createTlsApp } from './tls.ts'
import type {
  App,
  HttpRequest,
  HttpResponse,
  ListenSocket,
  SocketContext,
  Uws,
} from './uws-types.d.ts'
import { createSocketBehavior, Sockets } from './websocket.ts'

/** Maximum size of request line and headers, in bytes; larger heads are rejected with 431. */
const HEADER_MAX_BYTES = 16 * 1024

/** The library's default mode: SO_REUSEADDR and SO_REUSEPORT. */
const LISTEN_SHARED = 0

/**
 * Versions whose WebSockets can be paused with the methods of their response, which shares the socket. The library has
 * no methods for WebSockets (uWebSockets issue 1020). Verified per version, because this depends on internals.
 */
const PAUSES_WEBSOCKETS = /^20\.51\./
let pausesWebSockets = false

/**
 * Loads µWebSockets for this platform: the platform package installed by npm, or else a `@uwsjs/core` added by the
 * user. Returns undefined if it is unavailable.
 */
export function loadUws(): Uws | undefined {
  const require = createRequire(import.meta.url)
  // The library reads the variable while loading.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(HEADER_MAX_BYTES)
  const major = process.versions.node.split('.')[0]
  for (const name of [`@uwsjs/${process.platform}-${process.arch}-${major}`, '@uwsjs/core']) {
    try {
      const uws = require(name) as Uws
      const { version } = require(`${name}/package.json`) as { version: string }
      pausesWebSockets = PAUSES_WEBSOCKETS.test(version)
      return uws
    } catch {
      // Not installed for this platform, or built for another C library.
    }
  }
  return undefined
}

/** Listener on µWebSockets: HTTP/1.1 and WebSocket, plain or TLS. */
export const createUwsListener: CreateListener = async (options: ListenerOptions) => {
  if (options.clientCa !== undefined)
    throw new Error('uWebSockets cannot require client certificates: use the node listener')
  const uws = loadUws()
  if (uws === undefined) {
    throw new Error(
      `no uWebSockets binary for ${process.platform}-${process.arch}, Node ${process.versions.node}`,
    )
  }
  uws._cfg('silent')
  const secure = options.tls !== undefined
  const guard = new RequestValidator(options.internalHeaders, options.encodedSlashes)
  const maxMessageBytes = options.maxMessageBytes ?? MESSAGE_MAX_BYTES
  const sockets = new Sockets(maxMessageBytes, options.maxClientSockets ?? Number.POSITIVE_INFINITY)
  const maxConnections = options.maxConnections ?? Number.POSITIVE_INFINITY
  let connections = 0
  /** Number of requests received from the library. */
  let requests = 0
  /** Value of `requests` when the only open connection was opened; -1 if other connections were open. */
  let requestsAtOpen = -1
  let onUnreadable = secure ? undefined : options.onUnreadable
  /**
   * Whether the library has stored the state of a socket. Before that, resuming would not restore it. See
   * {@link resumeReading}.
   */
  let hasSavedState = false
  const life: Life = { pausesWebSockets, draining: false, peers: new PeerAddresses() }

  const add = (name: string, value: string) => {
    // The validator checks `host` itself, or has cached it.
    if ((name.length === 4 && name === 'host') || isPrintable(value)) return guard.add(name, value)
    // The library decodes UTF-8, but header values are byte strings.
    guard.addBytes(name, Buffer.from(value, 'utf8').toString('latin1'))
  }
  const serve = (
    method: string,
    res: HttpResponse,
    req: HttpRequest,
    context: SocketContext | undefined,
  ) => {
    requests++
    guard.reset()
    req.forEach(add)
    guard.closing ||= life.draining
    const x = new UwsExchange(method, res, req, guard, secure, context, sockets, life)
    options.handle(x)
  }

  // The library reports neither rejected requests nor which connection ends, so only a single connection can be
  // identified.
  const watchUnreadable = (change: number) => {
    if (change > 0) requestsAtOpen = connections === 1 ? requests : -1
    else if (connections === 0 && requestsAtOpen === requests) {
      onUnreadable?.()
      onUnreadable = undefined
    }
  }

  const behavior = createSocketBehavior(maxMessageBytes)
  const setup: AppSetup = {
    filter: (app, count) => {
      // biome-ignore lint/suspicious/useIterableCallbackReturn: not the filter of an array.
      app.filter((res, change) => {
        if (!hasSavedState) {
          hasSavedState = true
          resumeReading(res)
        }
        connections += change
        if (change > 0) life.peers.opened(res.getRemoteAddress())
        else life.peers.closed()
        if (onUnreadable !== undefined) watchUnreadable(change)
        count(change)
        if (change > 0 && connections > maxConnections) res.close()
      })
    },
    route: (router, count) => {
      // The library's router compares methods byte by byte. A routed method is a constant, compared by identity.
      router.get('/*', (res, req) => serve('GET', res, req, undefined))
      router.post('/*', (res, req) => serve('POST', res, req, undefined))
      router.any('/*', (res, req) => serve(req.getCaseSensitiveMethod(), res, req, undefined))
      router.ws('/*', {
        ...behavior,
        upgrade: (res, req, context) => serve('GET', res, req, context),
        close: (client, code, reason) => {
          // The filter is not called for connections that end as WebSockets.
          connections--
          life.peers.closed()
          count(-1)
          behavior.close(client, code, reason)
        },
      })
    },
  }
  const { app, close } =
    options.tls === undefined ? createPlainApp(uws, setup) : createTlsApp(uws, options.tls, setup)

  let socket: ListenSocket
  try {
    socket = await listen(app, options)
  } catch (error) {
    close()
    throw error
  }
  const port = uws.us_socket_local_port(socket)
  const drain = () => {
    if (life.draining) return
    life.draining = true
    sockets.drain()
    uws.us_listen_socket_close(socket)
  }
  const listener: Listener = {
    name: 'uws',
    port,
    get connections() {
      return connections
    },
    drain,
    closeTunnels: () => sockets.close(),
    close: async () => {
      drain()
      sockets.close()
      close()
    },
  }
  return listener
}

function createPlainApp(uws: Uws, setup: AppSetup): { app: App; close: () => void } {
  const app = uws.App()
  setup.filter(app, () => {})
  setup.route(app, () => {})
  return { app, close: () => app.close() }
}

/**
 * Opens the port. The library's exclusive mode does not set SO_REUSEADDR, so it could not open the port of a recently
 * ended gateway for a minute. Therefore the port is first probed, which fails if another process listens on it, and
 * then opened in shared mode.
 */
async function listen(app: App, options: ListenerOptions): Promise<ListenSocket> {
  const { host, shared = false } = options
  const port = shared ? options.port : await probePort(host, options.port)
  return new Promise((resolve, reject) => {
    app.listen(host, port, LISTEN_SHARED, (socket) => {
      if (socket) resolve(socket)
      else
        reject(new Error(`cannot listen on ${host}:${port}: the port is in use or not permitted`))
    })
  })
}

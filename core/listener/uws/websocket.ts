import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { relayReply } from '../../upstream/http1/relay.ts'
import { type OpenBackend, openBackend } from '../../upstream/websocket.ts'
import { ClientThrottle, type SocketSwitch } from '../client-throttle.ts'
import { ClientSockets, toPayloadMaxBytes, UWS_MAX_BYTES } from '../websocket/client-sockets.ts'
import {
  ABNORMAL,
  INVALID_DATA,
  NO_STATUS,
  SERVICE_RESTART,
  TOO_BIG,
} from '../websocket/close-codes.ts'
import { chooseProtocol } from '../websocket/handshake.ts'
import { CLIENT_HIGH_BYTES } from '../websocket/limits.ts'
import { type AcceptOptions, MESSAGE_MAX_BYTES, type SocketReceiver } from '../websocket/session.ts'
import { Tunnel } from '../websocket/tunnel.ts'
import type { TunnelTarget } from '../websocket/tunnel-target.ts'
import { UwsAcceptedSocket } from './accepted-socket.ts'
import type { SocketOwner } from './peer.ts'
import type { WebSocket as ClientSocket, WebSocketBehavior } from './uws-types.d.ts'

/** Idle timeout in seconds. A silent client is sent a ping before it is closed. */
const CLIENT_IDLE_SECONDS = 60

/** Operations of an exchange that becomes a WebSocket. */
export interface SocketExchange extends Exchange {
  /**
   * Responds to the handshake with 101 and passes the WebSocket to `owner`. Returns false if an `onReply` hook failed
   * or set another status, which was sent instead.
   */
  readonly openSocket: (owner: SocketOwner, protocol: string, headers: HeaderList) => boolean
  /** @param aborted whether the client disconnected without a close frame. */
  readonly socketEnded: (aborted: boolean) => void
}

/** The open WebSockets of a listener. */
export class Sockets {
  readonly #maxMessageBytes: number
  readonly #clients: ClientSockets
  readonly #open = new Set<SocketOwner>()
  #accepting = true
  #closed = false

  /**
   * @param maxMessageBytes limit of the listener for accepted WebSockets.
   * @param maxPerClient see `ListenerOptions.maxClientSockets`.
   */
  constructor(maxMessageBytes: number, maxPerClient: number) {
    this.#maxMessageBytes = maxMessageBytes
    this.#clients = new ClientSockets(maxPerClient)
  }

  /**
   * Proxies the client's WebSocket to a backend; see {@link Exchange.tunnel}. Backend responses other than 101 are
   * forwarded.
   *
   * @throws {GatewayError} 502 or 504 if the backend sent no valid response, 503 if the gateway is shutting down or the
   * client has too many WebSockets; nothing was sent to the client then.
   */
  async tunnel(x: SocketExchange, target: TunnelTarget): Promise<void> {
    const leave = this.#enter(x)
    try {
      await new Promise<void>((resolve, reject) => {
        const abandon = openBackend(target, {
          onOpen: (backend) => {
            resolve()
            this.#join(x, target, backend, leave)
          },
          onReply: (reply, head) => {
            leave()
            resolve()
            relayReply(x, reply, head, target)
          },
          onFailure: reject,
        })
        x.pipeTo({ onRequestBody: () => {}, onDrain: () => {}, onAbort: abandon })
      })
    } catch (error) {
      leave()
      throw error
    }
  }

  /** See {@link Exchange.accept}. */
  accept(
    x: SocketExchange,
    receiver: SocketReceiver,
    options: AcceptOptions,
  ): UwsAcceptedSocket | undefined {
    const { maxMessageBytes = MESSAGE_MAX_BYTES, headers = new HeaderList() } = options
    const protocol = chooseProtocol(x.headers, options.protocol)
    const limit = Math.min(maxMessageBytes, this.#maxMessageBytes)
    const leave = this.#enter(x)
    const socket: UwsAcceptedSocket = new UwsAcceptedSocket(x, receiver, limit, (aborted) => {
      leave()
      this.#open.delete(socket)
      x.socketEnded(aborted)
    })
    if (!x.openSocket(socket, protocol, headers)) {
      leave()
      return undefined
    }
    this.#open.add(socket)
    return socket
  }

  /** Stops accepting WebSockets. */
  drain(): void {
    this.#accepting = false
  }

  /** Ends every WebSocket with 1012, even during the handshake. */
  close(): void {
    this.#accepting = false
    this.#closed = true
    for (const owner of [...this.#open]) owner.close(SERVICE_RESTART, 'service restart')
  }

  /** @throws {GatewayError} 503 */
  #enter({ clientAddress }: SocketExchange): () => void {
    if (!this.#accepting) throw shuttingDown()
    return this.#clients.enter(clientAddress)
  }

  #join(x: SocketExchange, target: TunnelTarget, backend: OpenBackend, leave: () => void): void {
    const { protocol, headers } = backend
    const tunnel: Tunnel = new Tunnel(x, backend, target.maxMessageBytes, (aborted) => {
      leave()
      this.#open.delete(tunnel)
      x.socketEnded(aborted)
      target.onClose()
    })
    if (!x.answered) target.onHandshakeResponse?.(101, headers)
    if (x.answered || !x.openSocket(tunnel, protocol, headers)) {
      leave()
      tunnel.abandon()
      target.onClose()
      return
    }
    this.#open.add(tunnel)
    if (this.#closed) tunnel.close(SERVICE_RESTART, 'service restart')
  }
}

/** A plain object: the library copies user data property by property, so a class instance would lose its methods. */
export interface SocketData {
  readonly owner: SocketOwner
  /** Undefined if the library cannot pause a client. */
  readonly toSwitch: ((client: ClientSocket) => SocketSwitch) | undefined
}

/**
 * Creates the WebSocket behavior for uWebSockets. The user data of a socket is its {@link SocketData}.
 *
 * @param maxMessageBytes limit of the listener. Messages up to 1 MiB longer, or up to twice as long if that is less,
 *   are read and closed with 1009. For longer messages and for invalid UTF-8, the library drops the connection without
 *   a code (1006 instead of 1009 or 1007). The library does not report codes 1012 to 1014 and 3000 to 3999 from a
 *   client; the other side receives no code (1005). It reads a frame without a mask as if it had one.
 */
export function createSocketBehavior(
  maxMessageBytes: number,
): Omit<WebSocketBehavior, 'upgrade' | 'close'> & Required<Pick<WebSocketBehavior, 'close'>> {
  return {
    maxPayloadLength: toPayloadMaxBytes(maxMessageBytes),
    // For bytes that back-pressure does not limit, such as pongs to a client that does not read them.
    maxBackpressure: Math.min(maxMessageBytes + 2 * CLIENT_HIGH_BYTES, UWS_MAX_BYTES),
    closeOnBackpressureLimit: true,
    idleTimeout: CLIENT_IDLE_SECONDS,
    sendPingsAutomatically: true,
    compression: 0,
    open: (client) => {
      const { owner, toSwitch } = client.getUserData() as SocketData
      const throttle =
        toSwitch && new ClientThrottle(client, toSwitch(client), () => owner.clientDrained())
      owner.opened(client, throttle)
    },
    message: (client, message, binary) => toOwner(client).messageFromClient(message, binary),
    ping: (client, data) => toOwner(client).pingFromClient(data),
    pong: (client, data) => toOwner(client).pongFromClient(data),
    // Deferred because the library does not continue an incomplete write of this event.
    drain: (client) => {
      const owner = toOwner(client)
      setImmediate(() => owner.clientDrained())
    },
    close: (client, code, reason) => {
      notifyClosed(toOwner(client), code, Buffer.from(reason).toString())
    },
  }
}

function toOwner(client: ClientSocket): SocketOwner {
  return (client.getUserData() as SocketData).owner
}

function notifyClosed(owner: SocketOwner, code: number, reason: string): void {
  if (code !== ABNORMAL) return owner.clientClosed(code, reason, false)
  // Connections closed by the library itself can only be recognized by its reason texts.
  if (reason.includes('close payload')) owner.clientClosed(NO_STATUS, '', false)
  else if (reason.includes('too big')) owner.clientClosed(TOO_BIG, 'message too long', true)
  else if (reason.includes('UTF-8')) owner.clientClosed(INVALID_DATA, 'invalid UTF-8', true)
  else owner.clientClosed(ABNORMAL, '', true)
}

function shuttingDown(): GatewayError {
  return new GatewayError(GATEWAY_ID, 503, 'shutting down')
}

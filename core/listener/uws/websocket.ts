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

/** Idle timeout in seconds: a silent client is sent a ping before, and then closed. */
const CLIENT_IDLE_SECONDS = 60

/** Operations of an exchange that becomes a WebSocket. */
export interface SocketExchange extends Exchange {
  /**
   * Responds to the handshake with 101 and passes the WebSocket to `owner`. False when an `onReply` hook failed or set another status,
   * which was sent instead.
   */
  readonly openSocket: (owner: SocketOwner, protocol: string, headers: HeaderList) => boolean
  /** @param aborted the client disconnected without a close frame. */
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
   * @param maxOfClient see `ListenerOptions.maxClientSockets`.
   */
  constructor(maxMessageBytes: number, maxOfClient: number) {
    this.#maxMessageBytes = maxMessageBytes
    this.#clients = new ClientSockets(maxOfClient)
  }

  /**
   * Proxies the client's WebSocket to a backend; see {@link Exchange.tunnel}. A response of the backend other than 101 is forwarded.
   *
   * @throws {GatewayError} 502 or 504 when the backend sent no valid response, 503 when the gateway shuts down or the client has too many WebSockets; nothing was sent to the client then.
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

  /** Opens no more WebSockets. */
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

/** The library copies user data property by property: an instance of a class would lose its methods. */
export interface SocketData {
  readonly owner: SocketOwner
  /** Undefined if the library cannot pause a client. */
  readonly toSwitch: ((client: ClientSocket) => SocketSwitch) | undefined
}

/**
 * WebSocket behavior for uWebSockets; the user data of a socket is its {@link SocketData}.
 *
 * @param maxMessageBytes limit of the listener. A message up to 1 MiB longer, or twice as long if that is less, is read and closed
 *   with 1009; for a longer one the library drops the connection without a code, as for text that is not UTF-8 (1006 instead of
 *   1007). The library does not report the code of a client that closes with 1012 to 1014 or 3000 to 3999: the other side receives
 *   none (1005). It reads a frame without a mask as if it had one.
 */
export function createSocketBehavior(
  maxMessageBytes: number,
): Omit<WebSocketBehavior, 'upgrade' | 'close'> & Required<Pick<WebSocketBehavior, 'close'>> {
  return {
    maxPayloadLength: toPayloadMaxBytes(maxMessageBytes),
    // For bytes that back-pressure does not limit: pongs to a client that does not read them.
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
    // Deferred: the library does not continue an incomplete write of this event.
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
  // Connections closed by the library itself are recognized by its reason texts only.
  if (reason.includes('close payload')) owner.clientClosed(NO_STATUS, '', false)
  else if (reason.includes('too big')) owner.clientClosed(TOO_BIG, 'message too long', true)
  else if (reason.includes('UTF-8')) owner.clientClosed(INVALID_DATA, 'invalid UTF-8', true)
  else owner.clientClosed(ABNORMAL, '', true)
}

function shuttingDown(): GatewayError {
  return new GatewayError(GATEWAY_ID, 503, 'shutting down')
}

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

/** Seconds without a sign of life after which a client is asked for one, and then given up. */
const CLIENT_IDLE_SECONDS = 60

/** The exchange's side of a WebSocket: what only its listener can do. */
export interface SocketExchange extends Exchange {
  /**
   * Answers the client's handshake with 101 and gives the WebSocket to `owner`.
   * False when a reply hook failed or chose another status, and that went out instead.
   */
  readonly openSocket: (owner: SocketOwner, protocol: string, headers: HeaderList) => boolean
  /** @param aborted the client left without a close frame. */
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
   * @param maxMessageBytes the listener's limit for those that end in this process.
   * @param maxOfClient see `ListenerOptions.maxClientSockets`.
   */
  constructor(maxMessageBytes: number, maxOfClient: number) {
    this.#maxMessageBytes = maxMessageBytes
    this.#clients = new ClientSockets(maxOfClient)
  }

  /**
   * Carries the client's WebSocket to a backend; see {@link Exchange.tunnel}. An answer of
   * the backend other than 101 is relayed as the reply.
   *
   * @throws {GatewayError} 502 or 504 when the backend gave no valid answer, 503 when the gateway shuts down or the client has too many WebSockets; nothing was sent to the client then.
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
        x.attach({ onRequestBody: () => {}, onDrain: () => {}, onAbort: abandon })
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

  /** Ends every WebSocket with 1012, also those that still open. */
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
    if (!x.answered) target.onAnswer?.(101, headers)
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

/** The library copies what a socket is given field by field: an object of a class would lose its methods. */
export interface SocketData {
  readonly owner: SocketOwner
  /** Undefined where the library cannot hold a client back. */
  readonly toSwitch: ((client: ClientSocket) => SocketSwitch) | undefined
}

/**
 * How uWebSockets serves WebSockets; a socket's user data is its {@link SocketData}.
 *
 * @param maxMessageBytes limit of the listener. A message up to 1 MiB longer, or twice as long if that is less, is read, and
 *   answered with 1009; before a longer one the library drops the connection, without a code.
 *   The same goes for text that is not UTF-8 (1006 in place of 1007). Of a client that closes
 *   with 1012 to 1014 or 3000 to 3999 the library tells no code: the other side gets none (1005).
 *   A frame without a mask is read as if it had one.
 */
export function createSocketBehavior(
  maxMessageBytes: number,
): Omit<WebSocketBehavior, 'upgrade' | 'close'> & Required<Pick<WebSocketBehavior, 'close'>> {
  return {
    maxPayloadLength: toPayloadMaxBytes(maxMessageBytes),
    // Beyond what back-pressure lets come together: pongs for a client that reads none of them.
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
    // Later: what is written within this event and does not go out whole, the library forgets to write on.
    drain: (client) => {
      const owner = toOwner(client)
      setImmediate(() => owner.clientDrained())
    },
    close: (client, code, reason) => {
      tellClosed(toOwner(client), code, Buffer.from(reason).toString())
    },
  }
}

function toOwner(client: ClientSocket): SocketOwner {
  return (client.getUserData() as SocketData).owner
}

function tellClosed(owner: SocketOwner, code: number, reason: string): void {
  if (code !== ABNORMAL) return owner.clientClosed(code, reason, false)
  // The library's reasons, the only trace of what it does with a connection by itself.
  if (reason.includes('close payload')) owner.clientClosed(NO_STATUS, '', false)
  else if (reason.includes('too big')) owner.clientClosed(TOO_BIG, 'message too long', true)
  else if (reason.includes('UTF-8')) owner.clientClosed(INVALID_DATA, 'invalid UTF-8', true)
  else owner.clientClosed(ABNORMAL, '', true)
}

function shuttingDown(): GatewayError {
  return new GatewayError(GATEWAY_ID, 503, 'shutting down')
}

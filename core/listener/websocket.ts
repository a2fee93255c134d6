import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange, TunnelTarget } from '../exchange.ts'
import type { HeaderList } from '../headers.ts'
import { relayReply } from '../upstream/relay.ts'
import { type OpenBackend, openBackend } from '../upstream/websocket.ts'
import type { Throttle } from './backend-writer.ts'
import { CLIENT_HIGH_BYTES, Tunnel } from './tunnel.ts'
import type { WebSocket as ClientSocket, WebSocketBehavior } from './uws-types.d.ts'

/** Seconds without a sign of life after which a client is asked for one, and then given up. */
const CLIENT_IDLE_SECONDS = 60

/** The exchange's side of a tunnel: what only its listener can do. */
export interface TunnelExchange extends Exchange {
  /**
   * Answers the client's handshake with 101 and makes `tunnel` its WebSocket.
   * False when a reply hook failed and a 500 went out instead.
   */
  readonly acceptTunnel: (tunnel: Tunnel, protocol: string, headers: HeaderList) => boolean
  /** @param aborted the client left without a close frame. */
  readonly tunnelEnded: (aborted: boolean) => void
}

/** The open tunnels of a listener. */
export class Tunnels {
  readonly #open = new Set<Tunnel>()
  #accepting = true
  #closed = false

  get size(): number {
    return this.#open.size
  }

  /**
   * Carries the client's WebSocket to a backend; see {@link Exchange.tunnel}. An answer of
   * the backend other than 101 is relayed as the reply.
   *
   * @throws {GatewayError} 502 or 504 when the backend gave no valid answer, 503 when the gateway shuts down; nothing was sent to the client then.
   */
  open(x: TunnelExchange, target: TunnelTarget): Promise<void> {
    if (!this.#accepting) return Promise.reject(new GatewayError(GATEWAY_ID, 503, 'shutting down'))
    return new Promise((resolve, reject) => {
      const abandon = openBackend(target, {
        onOpen: (backend) => {
          resolve()
          this.#accept(x, target, backend)
        },
        onReply: (reply) => {
          resolve()
          relayReply(x, reply, target)
        },
        onFailure: reject,
      })
      x.attach({ onRequestBody: () => {}, onDrain: () => {}, onAbort: abandon })
    })
  }

  /** Opens no more tunnels. */
  drain(): void {
    this.#accepting = false
  }

  /** Ends every tunnel with 1012 (IANA WebSocket Close Code Number Registry: service restart), also those that still open. */
  close(): void {
    this.#accepting = false
    this.#closed = true
    for (const tunnel of [...this.#open]) tunnel.close(1012, 'service restart')
  }

  #accept(x: TunnelExchange, target: TunnelTarget, backend: OpenBackend): void {
    const { protocol, headers } = backend
    const tunnel: Tunnel = new Tunnel(x, backend, target.maxMessageBytes, (aborted) => {
      this.#open.delete(tunnel)
      x.tunnelEnded(aborted)
      target.onClose()
    })
    if (!x.answered) target.onAnswer?.(101, headers)
    if (x.answered || !x.acceptTunnel(tunnel, protocol, headers)) {
      tunnel.abandon()
      target.onClose()
      return
    }
    this.#open.add(tunnel)
    if (this.#closed) tunnel.close(1012, 'service restart')
  }
}

/** The library copies what a socket is given field by field: an object of a class would lose its methods. */
export interface SocketData {
  readonly tunnel: Tunnel
  /** Undefined where the library cannot hold a client back. */
  readonly toThrottle: ((client: ClientSocket) => Throttle) | undefined
}

/**
 * How uWebSockets serves the client's half of tunnels; a socket's user data is its {@link SocketData}.
 *
 * @param maxMessageBytes limit of the listener. A message up to twice as long is read, and
 *   answered with 1009; before a longer one the library drops the connection, without a code.
 *   The same goes for text that is not UTF-8 (1006 in place of 1007). Of a client that closes
 *   with 1012 to 1014 or 3000 to 3999 the library tells no code, so the backend gets none (1005).
 *   A frame without a mask is read as if it had one.
 */
export function createSocketBehavior(
  maxMessageBytes: number,
): Omit<WebSocketBehavior, 'upgrade' | 'close'> & Required<Pick<WebSocketBehavior, 'close'>> {
  return {
    maxPayloadLength: 2 * maxMessageBytes,
    // Beyond what back-pressure lets come together: pongs for a client that reads none of them.
    maxBackpressure: maxMessageBytes + 2 * CLIENT_HIGH_BYTES,
    closeOnBackpressureLimit: true,
    idleTimeout: CLIENT_IDLE_SECONDS,
    sendPingsAutomatically: true,
    compression: 0,
    open: (client) => {
      const { tunnel, toThrottle } = client.getUserData() as SocketData
      tunnel.opened(client, toThrottle?.(client))
    },
    message: (client, message, binary) => toTunnel(client).messageFromClient(message, binary),
    ping: (client, data) => toTunnel(client).pingFromClient(data),
    pong: (client, data) => toTunnel(client).pongFromClient(data),
    drain: (client) => toTunnel(client).clientDrained(),
    close: (client, code, reason) => {
      toTunnel(client).clientClosed(code, Buffer.from(reason).toString())
    },
  }
}

function toTunnel(client: ClientSocket): Tunnel {
  return (client.getUserData() as SocketData).tunnel
}

import type { WebSocket as BackendSocket } from 'ws'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange, TunnelTarget } from '../exchange.ts'
import type { HeaderList } from '../headers.ts'
import { relayReply } from '../upstream/relay.ts'
import { openBackend } from '../upstream/websocket.ts'
import { Tunnel } from './tunnel.ts'

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
        onOpen: (backend, protocol, headers) => {
          resolve()
          this.#accept(x, target, backend, protocol, headers)
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

  #accept(
    x: TunnelExchange,
    target: TunnelTarget,
    backend: BackendSocket,
    protocol: string,
    headers: HeaderList,
  ): void {
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

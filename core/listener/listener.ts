import type { Exchange } from '../exchange.ts'
import type { ClientCa } from './tls/client-ca.ts'
import type { TlsSource } from './tls/tls.ts'

export interface ListenerOptions {
  /** Interface to listen on: `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Unix socket instead of `host` and `port`. Only the `node` listener supports it. @default none */
  readonly path?: string | undefined
  /** Whether other processes of this gateway listen on the same port (`--workers`). @default false */
  readonly shared?: boolean
  /** Certificates; plain HTTP without. */
  readonly tls?: TlsSource | undefined
  /** Authorities of client certificates; with `tls`. Only the `node` listener supports it. @default no client certificates */
  readonly clientCa?: ClientCa | undefined
  /**
   * Whether the `node` listener serves HTTP/2 in addition to HTTP/1.1: over TLS by ALPN (RFC 7301), and with `cleartext`
   * without TLS by prior knowledge (RFC 9113 §3.3). `uws` does not support it. @default 'tls'
   */
  readonly http2?: 'tls' | 'cleartext' | 'off'
  /** Client connections accepted at a time; more are closed at once. @default unlimited */
  readonly maxConnections?: number
  /** Milliseconds after which the `node` listener closes an idle client connection; `uws` closes one after some 10 s. @default 75000 */
  readonly clientKeepAliveMs?: number
  /** Longest WebSocket message read from a client, in bytes. @default 16777216 */
  readonly maxMessageBytes?: number
  /**
   * Concurrent WebSockets of one client, then 503. For `uws`, which does not report how many bytes of an unfinished message it
   * buffers; `node` counts them. A client is an IPv4 address, an IPv6 /64 network, or all of loopback. @default unlimited
   */
  readonly maxClientSockets?: number
  /**
   * Whether to pass `mx-*` request headers on. They identify the caller: only for a service that only the platform can reach.
   * @default false
   */
  readonly internalHeaders?: boolean
  /**
   * Whether paths may contain `%2F`, which a backend may interpret differently than the gateway: `handle` rejects it for services
   * that have not enabled it. Called for each such path.
   * @default never
   */
  readonly encodedSlashes?: () => boolean
  /**
   * Called once, when a plain connection was the only one open and ended without a request that the parser of `uws` accepts: HTTP/1.0,
   * which it answers 505 by itself, or a TCP probe. `node` does not call it: it serves HTTP/1.0.
   */
  readonly onUnreadable?: () => void
  /** Called for every well-formed request. Must not throw. */
  readonly handle: (x: Exchange) => void
}

/** An open port. */
export interface Listener {
  readonly name: 'uws' | 'node'
  /** The actual port, even when 0 was requested; 0 for a Unix socket. */
  readonly port: number
  /** Open client connections. */
  readonly connections: number
  /**
   * Closes the port. Open connections are still served; each is closed with its next response, idle ones at once.
   *
   * @param keepIdle leaves idle connections open: a request may be in flight.
   */
  readonly drain: (keepIdle?: boolean) => void
  /** Closes every WebSocket with 1012 (IANA WebSocket Close Code Number Registry: service restart). A draining listener opens no new ones. */
  readonly closeTunnels: () => void
  /** Closes WebSockets as {@link closeTunnels} does, every connection, and the port. */
  readonly close: () => Promise<void>
}

/**
 * Opens a port.
 *
 * @throws {Error} in one line when the port is in use or cannot be opened.
 */
export type CreateListener = (options: ListenerOptions) => Promise<Listener>

import type { Exchange } from '../exchange.ts'
import type { ClientCa } from './tls/client-ca.ts'
import type { TlsSource } from './tls/tls.ts'

export interface ListenerOptions {
  /** Interface to listen on: `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly host: string
  /** 0 selects any free port. */
  readonly port: number
  /** Unix socket used instead of `host` and `port`. Only the `node` listener supports it. @default none */
  readonly path?: string | undefined
  /** Whether other processes of this gateway listen on the same port (`--workers`). @default false */
  readonly shared?: boolean
  /** Certificates; plain HTTP if undefined. */
  readonly tls?: TlsSource | undefined
  /**
   * Authorities of client certificates; requires `tls`. Only the `node` listener supports it. @default no client
   * certificates
   */
  readonly clientCa?: ClientCa | undefined
  /**
   * Whether the `node` listener serves HTTP/2 in addition to HTTP/1.1: over TLS by ALPN (RFC 7301), and, with
   * `cleartext`, without TLS by prior knowledge (RFC 9113 §3.3). `uws` does not support it. @default 'tls'
   */
  readonly http2?: 'tls' | 'cleartext' | 'off'
  /** Maximum number of open client connections; further connections are closed immediately. @default unlimited */
  readonly maxConnections?: number
  /**
   * Idle timeout of client connections on the `node` listener, in milliseconds; `uws` closes them after about 10 s.
   * @default 75000
   */
  readonly clientKeepAliveMs?: number
  /** Maximum size of a WebSocket message from a client, in bytes. @default 16777216 */
  readonly maxMessageBytes?: number
  /**
   * Maximum number of concurrent WebSockets per client; further ones are rejected with 503. Only for `uws`, which does
   * not report the buffered bytes of unfinished messages; `node` counts them. A client is an IPv4 address, an IPv6 /64
   * network, or the whole loopback network. @default unlimited
   */
  readonly maxClientSockets?: number
  /**
   * Whether to forward `mx-*` request headers. They identify the caller, so only the platform must be able to reach the
   * service.
   * @default false
   */
  readonly internalHeaders?: boolean
  /**
   * Whether paths may contain `%2F`, which a backend may interpret differently than the gateway. `handle` rejects such
   * paths for services that have not enabled them. Called for each such path.
   * @default never
   */
  readonly encodedSlashes?: () => boolean
  /**
   * Called once if the only open connection was plain and ended without a request that the `uws` parser accepts, such
   * as HTTP/1.0, which the parser rejects with 505, or a TCP probe. `node` serves HTTP/1.0 and does not call it.
   */
  readonly onUnreadable?: () => void
  /** Called for every well-formed request. Must not throw. */
  readonly handle: (x: Exchange) => void
}

/** An open port. */
export interface Listener {
  readonly name: 'uws' | 'node'
  /** Actual port, even if 0 was requested; 0 for a Unix socket. */
  readonly port: number
  /** Number of open client connections. */
  readonly connections: number
  /**
   * Closes the port. Open connections are still served. Each closes with its next response; idle connections close
   * immediately.
   *
   * @param keepIdle leaves idle connections open, because a request may be in flight.
   */
  readonly drain: (keepIdle?: boolean) => void
  /**
   * Closes every WebSocket with 1012 (IANA WebSocket Close Code Number Registry: service restart). A draining listener
   * accepts no new ones.
   */
  readonly closeTunnels: () => void
  /** Closes WebSockets like {@link closeTunnels}, then all connections and the port. */
  readonly close: () => Promise<void>
}

/**
 * Opens a port.
 *
 * @throws {Error} with a one-line message if the port is in use or cannot be opened.
 */
export type CreateListener = (options: ListenerOptions) => Promise<Listener>

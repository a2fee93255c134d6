import type { Exchange } from '../exchange.ts'
import type { ClientCa } from './tls/client-ca.ts'
import type { TlsSource } from './tls/tls.ts'

export interface ListenerOptions {
  /** Interface to listen on: `127.0.0.1`, `0.0.0.0`, `::`. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Whether other processes of this gateway listen on the same port (`--workers`). @default false */
  readonly shared?: boolean
  /** Certificates; plain HTTP without. */
  readonly tls?: TlsSource | undefined
  /** Asks clients for certificates that one of these issued; with `tls`. The `node` listener has it. @default none are asked for */
  readonly clientCa?: ClientCa | undefined
  /**
   * Where the `node` listener serves HTTP/2 beside HTTP/1.1: over TLS by ALPN (RFC 7301), with `cleartext` also without TLS to
   * clients that begin with it (RFC 9113 §3.3). `uws` does not have it. @default 'tls'
   */
  readonly http2?: 'tls' | 'cleartext' | 'off'
  /** Client connections accepted at a time; more are closed at once. @default unlimited */
  readonly maxConnections?: number
  /** Milliseconds after which the `node` listener closes an idle client connection; `uws` closes one after some 10 s. @default 75000 */
  readonly clientKeepAliveMs?: number
  /** Longest WebSocket message read from a client, in bytes. @default 16777216 */
  readonly maxMessageBytes?: number
  /**
   * WebSockets of one client at a time, then 503. `uws` has it, which does not report how much of an unfinished message it buffers;
   * `node` counts these bytes. A client is an IPv4 address, an IPv6 network of 64 bits, or all of loopback. @default unlimited
   */
  readonly maxClientSockets?: number
  /**
   * Whether `mx-*` fields of requests are kept. They say who calls: only for a service that nobody but the platform reaches.
   * @default false
   */
  readonly internalFields?: boolean
  /**
   * Whether paths may hold `%2F`. It can mean another path to a backend than to the gateway: `handle` rejects those of services that
   * are not to have it.
   * @default false
   */
  readonly encodedSlashes?: boolean
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
  /** The port, also when 0 was asked for. */
  readonly port: number
  /** Open client connections. */
  readonly connections: number
  /**
   * Closes the port. Open connections go on being served; each is closed with its next reply, idle ones at once.
   *
   * @param keepIdle leaves the idle ones open: a request may be on its way over one.
   */
  readonly drain: (keepIdle?: boolean) => void
  /** Ends every WebSocket with 1012 (IANA WebSocket Close Code Number Registry: service restart). No new ones are opened while the listener drains. */
  readonly closeTunnels: () => void
  /** Closes WebSockets as {@link closeTunnels} does, every connection, and the port. */
  readonly close: () => Promise<void>
}

/**
 * Opens a port.
 *
 * @throws {Error} with one clear line when the port is in use or may not be opened.
 */
export type CreateListener = (options: ListenerOptions) => Promise<Listener>

import type { LookupFunction } from 'node:net'
import type { UpstreamCall } from '../call.ts'
import type { UpstreamTls } from '../tls.ts'
import type { Http1Connection } from './connection.ts'
import type { HeadMemory } from './reply-head-cache.ts'

/** Upstream timeouts in milliseconds. Read for each phase, so that in-place changes apply to open connections. */
export interface Timeouts {
  /** Timeout for connecting, including the TLS handshake. */
  connectMs: number
  /** From the end of the request to the head of the response. */
  replyMs: number
  /** Between two chunks of a body in either direction. */
  idleMs: number
}

export interface Http1Options {
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** DNS lookup. @default the system resolver */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the system's authorities */
  readonly tls?: UpstreamTls | undefined
  readonly timeouts: Timeouts
  /** Keep-alive time of an unused connection in milliseconds, unless the backend announces less. */
  readonly keepAliveMs: number
  /**
   * Maximum age in milliseconds, reduced by a random share of up to a tenth. Older connections accept no more calls.
   * @default unlimited
   */
  readonly maxAgeMs?: number
}

/** The pool of a connection. */
export interface ConnectionOwner {
  /** Cached response heads of the node, shared by its connections. */
  readonly memory: HeadMemory
  readonly onIdle: (connection: Http1Connection) => void
  readonly onClosed: (connection: Http1Connection) => void
  /** Called when the backend closed a connection after this idle time, even if a request had just been sent on it. */
  readonly onIdleClose: (idleMs: number) => void
  /**
   * Returns a call whose connection ended before any of it was sent. It may be sent on a new connection, regardless of
   * its method.
   */
  readonly onUnsent: (call: UpstreamCall) => void
}

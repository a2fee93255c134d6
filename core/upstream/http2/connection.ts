import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTcp, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { clock, toDeadline } from '../../../lib/time/coarse-clock.ts'
import type { UpstreamFailure } from '../call.ts'
import { toConnectDetail } from '../connect-error.ts'
import type { Http1Options } from '../http1/connection-options.ts'
import { toAgeLimit } from '../max-age.ts'
import { toTlsOptions } from '../tls.ts'

export type Http2Options = Http1Options

/** A request to a backend over HTTP/2, and the receiver of its stream. */
export interface Http2Call {
  /** Headers of the request, including pseudo-headers. */
  readonly fields: OutgoingHttpHeaders
  /** Whether no body follows. */
  readonly bodyless: boolean
  /** Whether a connection that did not serve the call has returned it. Set by the pool. */
  resent: boolean
  /** Called when the request has been sent. The stream's events belong to the call until `close`. */
  readonly onStream: (stream: ClientHttp2Stream, connection: Http2UpstreamConnection) => void
  /** Called if the request was not sent or cannot be sent. */
  readonly onFailure: (failure: UpstreamFailure) => void
}

/** The pool of a connection. */
export interface Http2Owner {
  /** Called when the connection accepts calls. */
  readonly onReady: (connection: Http2UpstreamConnection) => void
  /** Called when a call has ended, so that there is room for another. */
  readonly onCapacity: (connection: Http2UpstreamConnection) => void
  /** Called once when the connection is closing or closed. `failure` is set if it never accepted a call. */
  readonly onClosed: (
    connection: Http2UpstreamConnection,
    failure: UpstreamFailure | undefined,
  ) => void
  /** Returns a call that a closing connection did not send. */
  readonly onUnsent: (call: Http2Call) => void
}

/** Maximum concurrent streams if the backend sets no limit (RFC 9113 §6.5.2 recommends at least 100). */
const STREAMS_MAX = 100
/** Flow-control window per stream, which is buffered for each slow client. */
export const STREAM_WINDOW_BYTES: number = 64 * 1024
/** Flow-control window per connection, shared by its streams. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024
/** Session memory of the library in megabytes, sufficient for the windows of many calls. */
const SESSION_MEMORY_MB = 64
/**
 * TCP keep-alive delay in milliseconds. HTTP/2 pings are not used, because gRPC servers may close connections due to
 * them.
 */
const KEEP_ALIVE_MS = 30_000
/** HTTP/2 error code (RFC 9113 §7). */
const REFUSED_STREAM = 7

/**
 * An HTTP/2 connection to a backend (RFC 9113): by ALPN over TLS, otherwise with prior knowledge. It accepts calls
 * after the backend has sent SETTINGS.
 */
export class Http2UpstreamConnection {
  /** Number of calls in flight. */
  load = 0
  /** Whether SETTINGS were received. */
  ready = false
  /** Whether the connection accepts no more calls. */
  closed = false
  /** `clock.nowMs` at which an unused connection is closed. */
  idleUntilMs = 0
  readonly #options: Http2Options
  readonly #owner: Http2Owner
  readonly #connectUntilMs: number
  /** `clock.nowMs` at which the connection stops accepting calls. */
  readonly #untilMs: number
  #session: ClientHttp2Session | undefined = undefined
  #maxLoad = STREAMS_MAX
  /** Last stream id in the backend's GOAWAY; streams with greater ids were not served. -1 if none received. */
  #lastStreamId = -1
  #error: Error | undefined = undefined
  #hasFailed = false

  constructor(options: Http2Options, owner: Http2Owner) {
    this.#options = options
    this.#owner = owner
    this.#untilMs = toAgeLimit(options.maxAgeMs)
    this.#connectUntilMs = toDeadline(options.timeouts.connectMs)
    void this.#connect()
  }

  get hasRoom(): boolean {
    return this.ready && !this.closed && this.load < this.#maxLoad
  }

  /** True if the connection is lost, not just one of its streams. */
  get isClosed(): boolean {
    return this.#session?.destroyed ?? true
  }

  /** Sends a call. Requires {@link hasRoom}. */
  send(call: Http2Call): void {
    let stream: ClientHttp2Stream
    try {
      stream = this.#session!.request(call.fields, { endStream: call.bodyless })
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      // Headers rejected by the library. Other errors concern the connection.
      if (/HEADER|PSEUDO|INVALID_ARG|CONNECTION/.test(code))
        return call.onFailure({ kind: 'malformed', detail: message, collateral: true })
      this.#retire()
      return this.#owner.onUnsent(call)
    }
    this.load++
    stream.once('close', () => this.#free())
    call.onStream(stream, this)
  }

  /** True if a stream that ended without a response is known to be unprocessed (RFC 9113 §6.8, §8.7). */
  isUnserved({ id, rstCode }: ClientHttp2Stream): boolean {
    if (rstCode === REFUSED_STREAM || id === undefined) return true
    return this.#lastStreamId >= 0 && id > this.#lastStreamId
  }

  /** Called by the pool's sweep. Enforces timeouts. */
  sweep(): void {
    if (!this.ready) {
      if (clock.nowMs <= this.#connectUntilMs) return
      const detail = 'connecting to the backend timed out'
      return this.#fail({ kind: 'connect-timeout', detail, collateral: false })
    }
    if (this.closed) return
    if (clock.nowMs > this.#untilMs || (this.load === 0 && clock.nowMs > this.idleUntilMs))
      this.close()
  }

  /** Stops accepting calls, and closes when the calls in flight have ended. */
  close(): void {
    this.#retire()
    this.#session?.close()
  }

  /** Closes immediately. Calls in flight are lost. */
  destroy(): void {
    this.#retire()
    this.#session?.destroy()
  }

  async #connect(): Promise<void> {
    // Loading takes about 15 ms once, and is only necessary for HTTP/2 backends.
    const { connect } = await import('node:http2')
    if (this.closed)
      return this.#fail({ kind: 'connect', detail: 'connection closed', collateral: true })
    const { host, port, secure } = this.#options
    const authority = `${secure ? 'https' : 'http'}://${isIPv6(host) ? `[${host}]` : host}:${port}`
    const session = connect(authority, {
      createConnection: () => this.#openSocket(),
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    })
    this.#session = session
    session.once('connect', () => session.setLocalWindowSize(CONNECTION_WINDOW_BYTES))
    session.on('remoteSettings', ({ maxConcurrentStreams = STREAMS_MAX }) => {
      this.#maxLoad = maxConcurrentStreams
      if (this.ready) return this.#owner.onCapacity(this)
      this.ready = true
      this.#stayIdle()
      this.#owner.onReady(this)
    })
    session.on('goaway', (_code, lastStreamId) => {
      this.#lastStreamId = lastStreamId
      this.#retire()
    })
    session.on('error', (error) => {
      this.#error ??= error
    })
    session.once('close', () => {
      const detail =
        this.#error === undefined
          ? 'the backend closed the connection'
          : toConnectDetail(this.#error)
      this.#fail({ kind: 'connect', detail, collateral: false })
    })
  }

  #openSocket(): Socket {
    const { host, port, secure, lookup, tls } = this.#options
    const common = { host, port, lookup, noDelay: true, keepAlive: true }
    const socketOptions = { ...common, keepAliveInitialDelay: KEEP_ALIVE_MS }
    if (!secure) return connectTcp(socketOptions)
    const socket = connectTls({
      ...socketOptions,
      ...toTlsOptions(tls, host),
      ALPNProtocols: ['h2'],
    })
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol === 'h2') return
      socket.destroy(new Error('the backend does not offer HTTP/2 (ALPN h2)'))
    })
    return socket
  }

  #free(): void {
    this.load--
    this.#stayIdle()
    this.#owner.onCapacity(this)
  }

  #stayIdle(): void {
    this.idleUntilMs = clock.nowMs + this.#options.keepAliveMs
  }

  #retire(): void {
    this.closed = true
  }

  #fail(failure: UpstreamFailure): void {
    this.closed = true
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#session?.destroy()
    this.#owner.onClosed(this, this.ready ? undefined : failure)
  }
}

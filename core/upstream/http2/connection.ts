import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { clock } from '../../../lib/time/coarse-clock.ts'
import type { UpstreamFailure } from '../call.ts'
import { toConnectDetail } from '../connect-error.ts'
import { type Http1Options, toAgeLimit } from '../http1/connection.ts'

/** How connections to a node are made: as those of HTTP/1.1. */
export type Http2Options = Http1Options

/** One request to a backend over HTTP/2, and who is told of its stream. */
export interface Http2Call {
  /** Fields of the request, those with a colon among them. */
  readonly fields: OutgoingHttpHeaders
  /** No body follows. */
  readonly bodyless: boolean
  /** It was given back once by a connection that served it not. Set by the pool. */
  resent: boolean
  /** The request is on its way: the stream's events are the call's, until its `close`. */
  readonly onStream: (stream: ClientHttp2Stream, connection: Http2Connection) => void
  /** It was not sent, or cannot be. */
  readonly onFailure: (failure: UpstreamFailure) => void
}

/** Who a connection belongs to. */
export interface Http2Owner {
  /** It takes calls. */
  readonly onReady: (connection: Http2Connection) => void
  /** A call is over: there is room for another. */
  readonly onRoom: (connection: Http2Connection) => void
  /** It ends, or has ended; told once. `failure`: it never took a call. */
  readonly onClosed: (connection: Http2Connection, failure: UpstreamFailure | undefined) => void
  /** The connection takes no more calls, so it has not sent this one. */
  readonly onUnsent: (call: Http2Call) => void
}

/** Calls at a time where the backend names no number (RFC 9113 §6.5.2 recommends no fewer). */
const STREAMS_MAX = 100
/** What a stream may send before it is read: this process buffers as much for each client that reads slowly. */
export const STREAM_WINDOW_BYTES: number = 64 * 1024
/** What all streams of a connection may send before the library has taken it, read or not. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024
/** What the library keeps for a connection, in the megabytes it counts in: windows of many calls fit in. */
const SESSION_MEMORY_MB = 64
/** Silence after which the kernel asks a node's host whether it is still there. HTTP/2 pings are not sent: gRPC servers end connections for them. */
const KEEP_ALIVE_MS = 30_000
/** RFC 9113 §7 */
const REFUSED_STREAM = 7

/** One HTTP/2 connection to a backend (RFC 9113): by ALPN over TLS, else by prior knowledge. It takes calls once the backend has sent its settings. */
export class Http2Connection {
  /** Calls under way. */
  load = 0
  /** The backend has said that it speaks HTTP/2. */
  ready = false
  /** It takes no more calls. */
  closed = false
  /** `clock.nowMs` after which it is closed when it is unused. */
  idleUntilMs = 0
  readonly #options: Http2Options
  readonly #owner: Http2Owner
  readonly #connectUntilMs: number
  /** `clock.nowMs` from when on it takes no more calls. */
  readonly #untilMs: number
  #session: ClientHttp2Session | undefined = undefined
  #maxLoad = STREAMS_MAX
  /** Of the backend's GOAWAY: streams with greater ids were not served; -1: there was none. */
  #lastStreamId = -1
  #error: Error | undefined = undefined
  #gone = false

  constructor(options: Http2Options, owner: Http2Owner) {
    this.#options = options
    this.#owner = owner
    this.#untilMs = toAgeLimit(options.maxAgeMs)
    this.#connectUntilMs = clock.nowMs + options.timeouts.connectMs
    void this.#connect()
  }

  /** Whether it takes another call now. */
  get hasRoom(): boolean {
    return this.ready && !this.closed && this.load < this.#maxLoad
  }

  /** Whether the connection is lost, as opposed to one of its streams. */
  get lost(): boolean {
    return this.#session?.destroyed ?? true
  }

  /** Sends a call; for connections with room. */
  send(call: Http2Call): void {
    let stream: ClientHttp2Stream
    try {
      stream = this.#session!.request(call.fields, { endStream: call.bodyless })
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      // Fields the library refuses; anything else is about the connection.
      if (/HEADER|PSEUDO|INVALID_ARG|CONNECTION/.test(code))
        return call.onFailure({ kind: 'malformed', detail: message, collateral: true })
      this.#retire()
      return this.#owner.onUnsent(call)
    }
    this.load++
    stream.once('close', () => this.#free())
    call.onStream(stream, this)
  }

  /** Whether the backend has certainly not served a stream that ended without a reply (RFC 9113 §6.8, §8.7). */
  isUnserved({ id, rstCode }: ClientHttp2Stream): boolean {
    if (rstCode === REFUSED_STREAM || id === undefined) return true
    return this.#lastStreamId >= 0 && id > this.#lastStreamId
  }

  /** For the pool's clock: ends what has taken too long. */
  sweep(): void {
    if (!this.ready) {
      if (clock.nowMs <= this.#connectUntilMs) return
      const detail = 'no connection to the backend in time'
      return this.#fail({ kind: 'connect-timeout', detail, collateral: false })
    }
    if (this.closed) return
    if (clock.nowMs > this.#untilMs || (this.load === 0 && clock.nowMs > this.idleUntilMs))
      this.close()
  }

  /** Takes no more calls, and ends when those under way are over. */
  close(): void {
    this.#retire()
    this.#session?.close()
  }

  /** Ends at once. Calls under way are lost. */
  destroy(): void {
    this.#retire()
    this.#session?.destroy()
  }

  async #connect(): Promise<void> {
    // Some 15 ms, once: whoever has no such backends does not pay for it.
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
      if (this.ready) return this.#owner.onRoom(this)
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
    const { host, port, secure, lookup, ca } = this.#options
    const common = { host, port, lookup, noDelay: true, keepAlive: true }
    const kept = { ...common, keepAliveInitialDelay: KEEP_ALIVE_MS }
    if (!secure) return connectTcp(kept)
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const trusted = ca === undefined ? {} : { ca }
    const socket = connectTls({ ...kept, ...servername, ...trusted, ALPNProtocols: ['h2'] })
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol === 'h2') return
      socket.destroy(new Error('the backend does not offer HTTP/2 (ALPN h2)'))
    })
    return socket
  }

  /** A call is over. */
  #free(): void {
    this.load--
    this.#stayIdle()
    this.#owner.onRoom(this)
  }

  #stayIdle(): void {
    this.idleUntilMs = clock.nowMs + this.#options.keepAliveMs
  }

  #retire(): void {
    this.closed = true
  }

  #fail(failure: UpstreamFailure): void {
    this.closed = true
    if (this.#gone) return
    this.#gone = true
    this.#session?.destroy()
    this.#owner.onClosed(this, this.ready ? undefined : failure)
  }
}

import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { clock } from '../../../lib/time/coarse-clock.ts'
import type { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { toNetwork } from '../../limits/client-network.ts'
import { HEADER_TIMEOUT_MS } from '../limits.ts'
import { readPeerAddress } from '../peer-addresses.ts'
import type { RequestValidator } from '../request-validator.ts'
import { addClientCert, toClientCertFields } from '../tls/client-cert.ts'
import { scheduleFairly } from './admission.ts'
import { Http2Exchange } from './exchange.ts'
import { readHttp2Head } from './request.ts'

/**
 * Number of requests that a client may cancel before their response: burst size, and rate per second. A canceled
 * request has already used backend resources but does not count as an open stream (rapid reset, CVE-2023-44487).
 */
const RESETS_MAX = 200
const RESETS_PER_SECOND = 20
/** Time for a client to close the connection after `GOAWAY` and the last response. */
const FAREWELL_TIMEOUT_MS = 10_000
/** Interval of the `PING` frames that show whether the library still writes. */
const PING_MS = 10_000

/** Shared by the connections of a listener. */
export interface Http2Serving {
  readonly guard: RequestValidator
  readonly secure: boolean
  readonly handle: (x: Exchange) => void
  /** Idle timeout of a connection in milliseconds. */
  readonly keepAliveMs: number
}

/** A client connection on node:http2 (RFC 9113). Its requests are served concurrently. */
export class Http2Connection {
  /** Peer IP address; IPv4-mapped addresses as IPv4. */
  readonly address: string
  readonly #session: ServerHttp2Session
  readonly #socket: Socket
  readonly #serving: Http2Serving
  /** Headers with the client certificate: name, value, name, value… */
  readonly #clientCert: readonly string[]
  readonly #exchanges = new Set<Http2Exchange>()
  /** `clock.nowMs` by which a request must arrive, or the client must close after `GOAWAY`. */
  #idleUntilMs = clock.nowMs + HEADER_TIMEOUT_MS
  /** Whether the next request is the last. */
  #leaving = false
  #resets = 0
  #resetsMs = clock.nowMs
  #nextPingMs = clock.nowMs + PING_MS
  /** Bytes written at the last sweep if the library left frames unwritten; -1 if it left none. */
  #lastBytesWritten = -1

  constructor(session: ServerHttp2Session, socket: Socket, serving: Http2Serving) {
    this.#session = session
    this.#socket = socket
    this.#serving = serving
    this.#clientCert = toClientCertFields(socket)
    this.address = readPeerAddress(socket)
    // Every error is followed by `close`.
    session.on('error', () => {})
    const client = toNetwork(this.address)
    const serve = (stream: ServerHttp2Stream, _: object, flags: number, rawHeaders: string[]) =>
      scheduleFairly(client, stream, () => this.#serve(stream, flags, rawHeaders))
    session.on('stream', serve)
    // A client that completed the HTTP/2 handshake may keep the connection idle.
    session.once('remoteSettings', () => {
      this.#idleUntilMs = clock.nowMs + serving.keepAliveMs
    })
  }

  /** Called by the exchange when it has ended. */
  finished(x: Http2Exchange): void {
    this.#exchanges.delete(x)
    if (this.#exchanges.size > 0) return
    const waitMs = this.#session.closed ? FAREWELL_TIMEOUT_MS : this.#serving.keepAliveMs
    this.#idleUntilMs = clock.nowMs + waitMs
  }

  /** Called by the exchange when the client canceled its request. */
  wasReset(): void {
    const { nowMs } = clock
    const paid = ((nowMs - this.#resetsMs) / 1000) * RESETS_PER_SECOND
    this.#resets = Math.max(0, this.#resets - paid) + 1
    this.#resetsMs = nowMs
    if (this.#resets <= RESETS_MAX) return
    const session = this.#session
    if (session.closed || session.destroyed) return
    // Requests in flight may be legitimate, so they are served, but no further requests are accepted.
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.drain()
  }

  /** Returns the request trailers that may be forwarded. Called by the exchange. */
  readTrailers(rawHeaders: readonly string[]): HeaderList {
    const { guard } = this.#serving
    guard.reset()
    for (let i = 0; i < rawHeaders.length; i += 2) guard.add(rawHeaders[i]!, rawHeaders[i + 1]!)
    return guard.headers
  }

  /**
   * Stops accepting requests and sends `GOAWAY` (RFC 9113 §6.8). Closes after the last response. With `keepIdle`, an
   * idle connection accepts one more request.
   */
  drain(keepIdle = false): void {
    if (keepIdle && this.#exchanges.size === 0) {
      this.#leaving = true
      return
    }
    this.#session.close()
    this.#idleUntilMs = clock.nowMs + FAREWELL_TIMEOUT_MS
  }

  /** Immediately ends the connection. */
  end(): void {
    this.#session.destroy()
  }

  /** Ends requests and connections that have exceeded a time limit. */
  sweep(nowMs: number): void {
    if (this.#isTerminated(nowMs)) {
      this.#session.destroy()
      this.#socket.destroy()
      return
    }
    for (const x of this.#exchanges) x.sweep(nowMs)
    if (this.#exchanges.size > 0 || nowMs < this.#idleUntilMs) return
    // The library would wait indefinitely for the client to close its half.
    if (this.#session.closed) this.#socket.destroy()
    else this.drain()
  }

  /**
   * After some malformed frames, the library sends `GOAWAY` and then no longer reads, writes or reports anything, even
   * if the client closes the connection. In this state, frames are waiting although no write is in progress.
   */
  #isTerminated(nowMs: number): boolean {
    const session = this.#session
    if (session.destroyed) return false
    if (nowMs >= this.#nextPingMs) {
      this.#nextPingMs = nowMs + PING_MS
      session.ping(() => {})
    }
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    const isStuck = session.state.outboundQueueSize! > 0 && _handle?.writeQueueSize === 0
    const { bytesWritten } = this.#socket
    // A write may start in this tick.
    const wasStuck = this.#lastBytesWritten === bytesWritten
    this.#lastBytesWritten = isStuck ? bytesWritten : -1
    return isStuck && wasStuck
  }

  #serve(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    if (stream.closed || stream.destroyed) {
      // The request was canceled in the same tick.
      stream.on('error', () => {})
      this.wasReset()
      return
    }
    if (this.#leaving) this.drain()
    const { guard, secure, handle } = this.#serving
    const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
    const request = readHttp2Head(rawHeaders, ended, guard)
    addClientCert(guard.headers, this.#clientCert)
    const x = new Http2Exchange(this, stream, request, guard, secure)
    this.#exchanges.add(x)
    handle(x)
    if (!x.finished) x.receiveBody()
  }
}

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
import { beginFairly } from './admission.ts'
import { Http2Exchange } from './exchange.ts'
import { readHttp2Head } from './request.ts'

/**
 * Requests that a client may take back before they are answered: so many at once, and so many a second from then on. Each has begun
 * to cost a backend work, and counts as none of the streams that are open (CVE-2023-44487).
 */
const RESETS_MAX = 200
const RESETS_PER_SECOND = 20
/** How long a client may take to close after `GOAWAY` and the last reply. */
const FAREWELL_TIMEOUT_MS = 10_000

/** What the connections of a listener share. */
export interface Http2Serving {
  readonly guard: RequestValidator
  readonly secure: boolean
  readonly handle: (x: Exchange) => void
  /** Milliseconds after which an idle connection is closed. */
  readonly keepAliveMs: number
}

/** One client connection on node:http2 (RFC 9113): its requests are served side by side. */
export class Http2Connection {
  /** IP address of the other end; IPv4 also where it came as a mapped address. */
  readonly address: string
  readonly #session: ServerHttp2Session
  readonly #socket: Socket
  readonly #serving: Http2Serving
  /** What its requests say of the client's certificate, name, value, name, value… */
  readonly #clientCert: readonly string[]
  readonly #exchanges = new Set<Http2Exchange>()
  /** `clock.nowMs` by when a request must have come, or the client closed after the farewell. */
  #idleUntilMs = clock.nowMs + HEADER_TIMEOUT_MS
  /** The next request is the last. */
  #leaving = false
  #resets = 0
  #resetsMs = clock.nowMs

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
      beginFairly(client, stream, () => this.#serve(stream, flags, rawHeaders))
    session.on('stream', serve)
    // A client that speaks the protocol may keep the connection in reserve.
    session.once('remoteSettings', () => {
      this.#idleUntilMs = clock.nowMs + serving.keepAliveMs
    })
  }

  /** For the exchange: it is done. */
  finished(x: Http2Exchange): void {
    this.#exchanges.delete(x)
    if (this.#exchanges.size > 0) return
    const waitMs = this.#session.closed ? FAREWELL_TIMEOUT_MS : this.#serving.keepAliveMs
    this.#idleUntilMs = clock.nowMs + waitMs
  }

  /** For the exchange: the client took its request back. */
  wasReset(): void {
    const { nowMs } = clock
    const paid = ((nowMs - this.#resetsMs) / 1000) * RESETS_PER_SECOND
    this.#resets = Math.max(0, this.#resets - paid) + 1
    this.#resetsMs = nowMs
    if (this.#resets <= RESETS_MAX) return
    const session = this.#session
    if (session.closed || session.destroyed) return
    // What is under way may have been meant: it is served, and nothing after it.
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    this.drain()
  }

  /** For the exchange: the fields of a request's trailer that may go on. */
  readTrailers(rawHeaders: readonly string[]): HeaderList {
    const { guard } = this.#serving
    guard.reset()
    for (let i = 0; i < rawHeaders.length; i += 2) guard.add(rawHeaders[i]!, rawHeaders[i + 1]!)
    return guard.headers
  }

  /** Takes no more requests, which the client is told with the last one that was taken (RFC 9113 §6.8); closes after the last reply. An idle one that is kept takes one more. */
  drain(keepIdle = false): void {
    if (keepIdle && this.#exchanges.size === 0) {
      this.#leaving = true
      return
    }
    this.#session.close()
    this.#idleUntilMs = clock.nowMs + FAREWELL_TIMEOUT_MS
  }

  /** Ends the connection at once. */
  end(): void {
    this.#session.destroy()
  }

  /** Ends what has taken too long. */
  sweep(nowMs: number): void {
    for (const x of this.#exchanges) x.sweep(nowMs)
    if (this.#exchanges.size > 0 || nowMs < this.#idleUntilMs) return
    // The library waits for ever for a client to close its half.
    if (this.#session.closed) this.#socket.destroy()
    else this.drain()
  }

  #serve(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    if (stream.closed || stream.destroyed) {
      // Taken back in the same breath.
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

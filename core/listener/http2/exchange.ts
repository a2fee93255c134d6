import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { clock } from '../../../lib/time/coarse-clock.ts'
import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { LONG_REPLY_BYTES, mayWait, rejectResponse } from '../../limits/memory-budget.ts'
import { countBuffered } from '../../limits/request-buffers.ts'
import type { Peer } from '../../request/incoming-request.ts'
import { STALL_TIMEOUT_MS, STREAMS_MAX } from '../limits.ts'
import type { RequestValidator } from '../request-validator.ts'
import { type UnreadBody, unwatchUnread, watchUnread } from '../unread-bodies.ts'
import { uploads, type WatchedUpload } from '../upload-watchdog.ts'
import { upgradeRequired } from '../websocket/handshake.ts'
import type { ServerSocket } from '../websocket/session.ts'
import type { Http2Connection } from './connection.ts'
import type { Http2Request } from './request.ts'

/** Maximum piece of a long response written at a time. A client that reads this much is not stalled. */
const PIECE_BYTES = 64 * 1024

/**
 * Responses above this size count as long. All pending responses of a connection use as much memory as one over another
 * protocol.
 */
const LONG_BYTES = LONG_REPLY_BYTES / STREAMS_MAX

const EMPTY = new Uint8Array(0)

/** A request on node:http2: one stream of its connection (RFC 9113 §8.1). */
export class Http2Exchange extends Exchange implements WatchedUpload, UnreadBody {
  readonly #connection: Http2Connection
  readonly #stream: ServerHttp2Stream
  readonly #takesTrailers: boolean
  #expecting: boolean
  #requestTrailers: HeaderList | undefined = undefined
  #replyTrailers: HeaderList | undefined = undefined
  /** Whether trailers will be sent. */
  #trailing = false
  /** Body length announced to the client, in bytes; -1 if unknown. */
  #length = -1
  /** Unwritten rest of a long response. */
  #rest: Uint8Array | undefined = undefined
  /** Whether the request body is being read, and not paused by its consumer. */
  #reading = false
  /** Counted bytes of the request body that the library buffers. */
  #unreadBytes = 0
  /** Whether the client currently does not read the response. */
  #blocked = false
  /** `clock.nowMs` by which the client must have read more of the response; 0 if nothing is pending. */
  #deadlineMs = 0

  constructor(
    connection: Http2Connection,
    stream: ServerHttp2Stream,
    request: Http2Request,
    guard: RequestValidator,
    secure: boolean,
  ) {
    const { method, path, query, takesTrailers, expecting, malformed } = request
    const { host, headers, bodyLength } = guard
    super(method, path, query, host, headers, secure, bodyLength, false)
    this.#connection = connection
    this.#stream = stream
    this.#takesTrailers = takesTrailers
    this.#expecting = expecting
    this.malformed = malformed
    // For HEAD, the library ends its side before the response.
    stream.on('finish', () => this.answered && this.finish())
    stream.on('aborted', () => this.#closed())
    stream.on('close', () => this.#closed())
    // Every error is followed by `close`.
    stream.on('error', () => {})
  }

  override get httpVersion(): '1.1' | '2' {
    return '2'
  }

  override get takesTrailers(): boolean {
    return this.#takesTrailers
  }

  override get requestTrailers(): HeaderList | undefined {
    return this.#requestTrailers
  }

  get isDone(): boolean {
    return this.finished || this.bodyDone
  }

  get isAwaited(): boolean {
    return this.#reading && !this.#expecting && !this.allowsIdleBody
  }

  get remoteAddress(): string {
    return this.#connection.address
  }

  /** Starts reading the body. Called by the connection once the exchange has started. */
  receiveBody(): void {
    const stream = this.#stream
    if (this.bodyDone || this.malformed !== undefined) return
    stream.on('trailers', (_: object, _flags: number, rawHeaders: string[]) => {
      this.#requestTrailers = this.#connection.readTrailers(rawHeaders)
    })
    stream.on('data', (chunk: Buffer) => {
      this.receive(chunk, false)
    })
    stream.on('end', () => {
      // For HEAD, the library only reports an incomplete body by `end`, since its own side has already ended.
      if (stream.closed && !this.answered) return this.#closed()
      this.receive(EMPTY, true)
      uploads.unwatch(this)
    })
    this.#reading = true
    // Watched from the head on, because empty and padded DATA frames are not progress.
    uploads.watch(this)
  }

  /** Ends the stream if its client has not read the response for too long. Called periodically by the connection. */
  sweep(nowMs: number): void {
    if (this.#deadlineMs === 0 || nowMs < this.#deadlineMs) return
    this.abortWith(
      new GatewayError(GATEWAY_ID, 408, 'Timeout: the client did not read the response.'),
    )
  }

  override pipeTo(peer: Peer): void {
    // Only when the body is read, so that clients do not upload bodies of rejected requests.
    if (this.#expecting && !this.answered) {
      this.#expecting = false
      if (!this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 })
    }
    super.pipeTo(peer)
  }

  tunnel(): Promise<void> {
    return Promise.reject(upgradeRequired())
  }

  accept(): ServerSocket | undefined {
    if (this.answered) return undefined
    throw upgradeRequired()
  }

  protected override finish(): void {
    if (this.finished) return
    super.finish()
    unwatchUnread(this)
    this.#deadlineMs = 0
    const stream = this.#stream
    // The response is complete without the rest of the request body (RFC 9113 §8.1).
    if (!this.bodyDone) uploads.unwatch(this)
    if (!this.bodyDone && !this.aborted) {
      const close = () => stream.close(constants.NGHTTP2_NO_ERROR)
      // node:http2 drops trailers, and since Node.js 22 headers that end the stream, if the stream is closed in the
      // tick that sends them.
      if (this.#trailing) stream.once('wantTrailers', () => setImmediate(close))
      else setImmediate(close)
    }
    // Unread bytes would keep the stream open.
    stream.resume()
    this.#connection.finished(this)
  }

  override send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    const isRefused = !this.answered && !mayWait(body, LONG_BYTES)
    // The error body is short.
    if (isRefused) this.fail(rejectResponse(this.route?.service ?? GATEWAY_ID))
    else super.send(status, headers, body)
  }

  protected transmit(body: string | Uint8Array): void {
    // Copied: the next read overwrites the memory of an upstream response.
    const bytes = Buffer.from(body as Uint8Array)
    const isEmpty = bytes.length === 0 || this.#isBodyless()
    // A response that ends with its headers needs no length, and may be Trailers-Only in gRPC.
    const length = bytes.length === 0 && this.method !== 'HEAD' ? -1 : bytes.length
    if (!this.#respond(length, { endStream: isEmpty })) return
    if (isEmpty) return this.finish()
    this.bytesOut = bytes.length
    if (bytes.length > LONG_BYTES) this.awaitClient(bytes.length)
    if (bytes.length <= PIECE_BYTES) {
      this.#stream.end(bytes)
      this.#block()
      return
    }
    this.#rest = bytes
    this.#stream.on('drain', () => this.#sendRest())
    this.#sendRest()
  }

  protected transmitHead(length: number): void {
    this.#length = length
    const isBodyless = this.#isBodyless()
    const options = isBodyless ? { endStream: true } : { waitForTrailers: true }
    if (!this.#respond(length, options)) return
    if (isBodyless) return this.finish()
    const stream = this.#stream
    this.#trailing = true
    stream.on('wantTrailers', () => {
      this.#trailing = false
      stream.sendTrailers(toFields(this.#replyTrailers, true))
    })
    stream.on('drain', () => {
      this.#blocked = false
      this.#watchStall()
      this.drained()
    })
  }

  protected transmitChunk(chunk: Uint8Array): boolean {
    if (this.#isBodyless()) return true
    if (this.#length >= 0 && this.bytesOut > this.#length) {
      this.closeConnection()
      return true
    }
    if (this.#stream.write(Buffer.from(chunk))) return true
    this.#block()
    return false
  }

  protected transmitEnd(trailers?: HeaderList): void {
    if (this.#isBodyless()) return
    // A response shorter than its announced length must not appear complete.
    if (this.#length >= 0 && this.bytesOut < this.#length) return this.closeConnection()
    this.#replyTrailers = trailers
    this.#stream.end()
    this.#block()
  }

  protected closeConnection(): void {
    this.abort()
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  protected pauseRead(): void {
    this.#reading = false
    this.#stream.pause()
    watchUnread(this)
  }

  protected resumeRead(): void {
    this.#reading = true
    unwatchUnread(this)
    this.#setUnread(0)
    this.#stream.resume()
  }

  countUnread(): void {
    this.#setUnread(this.#stream.readableLength)
  }

  override dropBufferedBody(isLarge: boolean): void {
    this.#unreadBytes = 0
    unwatchUnread(this)
    super.dropBufferedBody(isLarge)
  }

  #setUnread(bytes: number): void {
    const more = bytes - this.#unreadBytes
    this.#unreadBytes = bytes
    countBuffered(this, this.bufferedBytes + more)
  }

  #sendRest(): void {
    const bytes = this.#rest
    if (bytes === undefined || this.finished) return
    for (let at = 0; ; at += PIECE_BYTES) {
      const end = at + PIECE_BYTES
      if (end >= bytes.length) {
        this.#rest = undefined
        this.#stream.end(bytes.subarray(at))
        break
      }
      if (!this.#stream.write(bytes.subarray(at, end))) {
        this.#rest = bytes.subarray(end)
        break
      }
    }
    this.#block()
  }

  /** Starts the timeout for written bytes. */
  #block(): void {
    this.#blocked = this.#stream.writableLength > 0
    this.#watchStall()
  }

  /** Limits how long the client may stop reading the response. */
  #watchStall(): void {
    this.#deadlineMs = this.#blocked && !this.finished ? clock.nowMs + STALL_TIMEOUT_MS : 0
  }

  /** 204, 205 and 304: RFC 9110 §15.3.5, §15.3.6 and §15.4.5. */
  #isBodyless(): boolean {
    const { status } = this
    return this.method === 'HEAD' || status === 204 || status === 205 || status === 304
  }

  /** Sends the response headers. Returns false if the client has disconnected. */
  #respond(length: number, options: { endStream?: boolean; waitForTrailers?: boolean }): boolean {
    const stream = this.#stream
    if (stream.closed || stream.destroyed) return false
    try {
      stream.respond(this.#toHead(length, false), options)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_HTTP2_HEADER_SINGLE_VALUE') throw error
      stream.respond(this.#toHead(length, true), options)
    }
    return true
  }

  #toHead(length: number, joins: boolean): OutgoingHttpHeaders {
    const fields = toFields(this.replyHeaders, joins)
    fields[':status'] = this.status
    if (length >= 0 && this.status !== 204 && this.status !== 205) fields['content-length'] = length
    return fields
  }

  #closed(): void {
    if (this.finished) return
    this.#connection.wasReset()
    this.abort()
  }
}

/** Converts headers for the library. Joins repeated list headers, which the library rejects. */
function toFields(list: HeaderList | undefined, joins = false): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = Object.create(null)
  const flat = list?.flat ?? []
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    const value = flat[i + 1]!
    const before = fields[name]
    // Connection-specific headers of HTTP/1.1 are malformed in HTTP/2 (RFC 9113 §8.2.2).
    if (name === 'upgrade' || name === 'http2-settings') continue
    if (before === undefined) fields[name] = value
    // The only header whose repeats do not form a list (RFC 9110 §5.3).
    else if (joins && name !== 'set-cookie') fields[name] = `${before}, ${value}`
    else fields[name] = [before as string | string[], value].flat()
  }
  return fields
}

// Imported because the global of the same name is a slow getter.
import { performance } from 'node:perf_hooks'
import { copyToBuffer, releaseBuffer } from '../../lib/io/buffer-pool.ts'
import { ByteBuffer } from '../../lib/io/byte-buffer.ts'
import { tickNow } from '../../lib/time/tick-clock.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { removeDigests } from '../http/content-digests.ts'
import type { HeaderList } from '../http/headers.ts'
import { rejectBody } from '../limits/memory-budget.ts'
import { countBuffered, mayBuffer, type RequestBuffer } from '../limits/request-buffers.ts'
import type { RequestLine } from '../route.ts'

/** The upstream side of an exchange, which consumes the request body and produces a streamed response. */
export interface Peer {
  /** Called with the next chunk of the request body, only valid during the call. If `last`, only trailers follow. */
  readonly onRequestBody: (chunk: Uint8Array, last: boolean) => void
  /** Called when `Exchange.write` may continue after it returned false. */
  readonly onDrain: () => void
  /** Called when the client has disconnected or the gateway has ended the exchange; nothing more can be sent. */
  readonly onAbort: () => void
  /**
   * Called when the client has lost access to the rest of the response, which must end with this error. If missing, the
   * connection is closed.
   */
  readonly onRevoke?: (error: GatewayError) => void
}

/** Maximum request body bytes buffered until a peer is attached; then reading pauses. */
const QUEUE_MAX_BYTES = 64 * 1024
/** Overhead of a buffered chunk, since bodies may arrive byte by byte. */
const PIECE_BYTES = 128

/** Characters that are valid in the query of a request line: visible ASCII without `#` (RFC 9112 §3.2.1). */
const QUERY = /^[\x21\x22\x24-\x7e]*$/
const PATH = /^\/[\x21\x22\x24-\x3e\x40-\x5b\x5d-\x7e]*$/

/** The request half of an exchange: request line, headers and body. The body is buffered until a peer is attached. */
export abstract class IncomingRequest implements RequestLine, RequestBuffer {
  readonly method: string
  readonly path: string
  /** As received, without the `?`; empty if absent. */
  readonly query: string
  readonly host: string
  /** End-to-end request headers, without hop-by-hop and framing headers (RFC 9110 §7.6.1). They are sent upstream. */
  readonly headers: HeaderList
  /** Whether the client uses TLS. */
  readonly secure: boolean
  /** Announced body length in bytes; 0 without a body; -1 if chunked with unknown length. */
  readonly bodyLength: number
  /** Whether the client requests a WebSocket. */
  readonly upgrade: boolean
  /** `performance.now()` at arrival. */
  readonly startMs: number
  /** Name of the listener that received it; empty if there is only one. */
  listener = ''
  /** Maximum number of body bytes; longer bodies are rejected with 413 (`body-limit` plugin). */
  bodyLimit: number = Number.POSITIVE_INFINITY
  /** Body bytes received. */
  bytesIn = 0
  bufferedBytes = 0
  /** Whether the request body is a stream of messages without an idle timeout. */
  allowsIdleBody = false
  /** Whether the complete request body was received. */
  protected bodyDone: boolean
  protected peer: Peer | undefined = undefined
  /** Whether the peer receives the request body. */
  private reading = false
  private queue: Uint8Array[] | undefined = undefined
  private queuedBytes = 0
  /** The part of {@link bufferedBytes} waiting in a connection to a backend. */
  private sendingBytes = 0
  private bodyPaused = false
  /** Whether {@link dropBufferedBody} dropped the queue; later chunks would leave a gap. */
  private isBodyDropped = false
  private clientAddressOverride: string | undefined = undefined
  /** Target before the first rewrite; undefined if not rewritten. */
  private unrewrittenTarget: string | undefined = undefined

  constructor(
    method: string,
    path: string,
    query: string,
    host: string,
    headers: HeaderList,
    secure: boolean,
    bodyLength: number,
    upgrade: boolean,
  ) {
    this.method = method
    this.path = path
    this.query = query
    this.host = host
    this.headers = headers
    this.secure = secure
    this.bodyLength = bodyLength
    this.upgrade = upgrade
    this.startMs = tickNow()
    this.bodyDone = bodyLength === 0
  }

  abstract readonly namespace: string
  abstract readonly answered: boolean
  abstract readonly finished: boolean
  abstract readonly aborted: boolean

  /** IP address of the connection's peer; empty for a Unix socket. */
  abstract get remoteAddress(): string

  /** Client IP address: the peer of the connection, unless a trusted proxy sent another (`forwarded` plugin). */
  get clientAddress(): string {
    return this.clientAddressOverride ?? this.remoteAddress
  }

  set clientAddress(address: string) {
    this.clientAddressOverride = address
  }

  /** Path and query, the request target to forward. */
  get target(): string {
    return this.query === '' ? this.path : `${this.path}?${this.query}`
  }

  /** The original {@link target}, before any rewrite. */
  get originalTarget(): string {
    return this.unrewrittenTarget ?? this.target
  }

  /**
   * Changes the path: before routing, the path to route; after routing, the path to forward.
   *
   * @throws {TypeError} if it is not a path or contains a query.
   */
  rewrite(path: string): void {
    if (!PATH.test(path)) {
      throw new TypeError(
        `path must start with / and contain only visible ASCII without ?, # and \\, got ${JSON.stringify(path)}`,
      )
    }
    this.unrewrittenTarget ??= this.target
    ;(this as { path: string }).path = path
  }

  /**
   * Changes the query, without `?`.
   *
   * @throws {TypeError} if it contains `#` or characters other than visible ASCII.
   */
  rewriteQuery(query: string): void {
    if (!QUERY.test(query))
      throw new TypeError(
        `query must contain only visible ASCII without #, got ${JSON.stringify(query)}`,
      )
    this.unrewrittenTarget ??= this.target
    ;(this as { query: string }).query = query
  }

  /** HTTP version of the client. */
  get httpVersion(): '1.1' | '2' {
    return '1.1'
  }

  /** Whether the listener always sends the current time as `Date`. */
  get writesDate(): boolean {
    return false
  }

  /** Whether the client accepts trailers (RFC 9110 §6.5.1); otherwise `end` may omit them. */
  get takesTrailers(): boolean {
    return false
  }

  /** Request trailers, complete after the last chunk of the body; undefined if none, or if dropped by the listener. */
  get requestTrailers(): HeaderList | undefined {
    return undefined
  }

  /** Milliseconds since arrival. */
  get elapsedMs(): number {
    return performance.now() - this.startMs
  }

  /**
   * Sets the peer, which is notified if the client disconnects. The request body is buffered until {@link pipeTo} is
   * called.
   */
  setPeer(peer: Peer): void {
    this.peer = peer
    this.reading = false
  }

  /** Sets the peer and passes the request body to it. */
  pipeTo(peer: Peer): void {
    this.peer = peer
    if (this.isBodyDropped) return this.dropPeer()
    // The limit may have been set after the first bytes arrived.
    if (this.bytesIn > this.bodyLimit) return this.abortWith(tooLarge(this.bodyLimit))
    this.reading = true
    const queue = this.queue
    if (queue !== undefined) {
      this.queue = undefined
      countBuffered(this, this.bufferedBytes - this.queuedBytes)
      this.queuedBytes = 0
      for (const [i, chunk] of queue.entries()) {
        peer.onRequestBody(chunk, this.bodyDone && i === queue.length - 1)
        releaseBuffer(chunk)
      }
    }
    if (this.bodyPaused && this.reading) this.resumeBody()
  }

  /**
   * Collects the complete request body. A peer that is attached later also receives it, even if it is longer than
   * `limit`.
   *
   * @throws {GatewayError} 413 if the body is longer than `limit` bytes, 503 if the process buffers too many bytes, 400
   *   if the client disconnects before its end.
   */
  readBody(limit: number = 1024 * 1024): Promise<Buffer> {
    if (this.bodyLength > limit) return Promise.reject(tooLarge(limit))
    if (this.bodyLength === 0) return Promise.resolve(Buffer.alloc(0))
    return new Promise((resolve, reject) => {
      const received = new ByteBuffer()
      this.pipeTo({
        onRequestBody: (chunk, last) => {
          received.append(chunk)
          const isTooLong = received.length > limit
          if (isTooLong || !this.reserveMemory(chunk.length)) {
            this.requeue([received.bytes], received.length)
            reject(isTooLong ? tooLarge(limit) : rejectBody(GATEWAY_ID))
          } else if (last) {
            this.requeue([received.bytes], 0)
            resolve(received.bytes)
          }
        },
        onDrain: () => {},
        onAbort: () =>
          reject(
            new GatewayError('', 400, 'the client disconnected before the end of the request body'),
          ),
      })
    })
  }

  /**
   * Replaces the body after {@link readBody}, and removes its digests from the headers.
   *
   * @throws {GatewayError} 503 if the process buffers too many bytes.
   */
  replaceBody(body: string | Uint8Array): void {
    if (!this.bodyDone) throw new TypeError('replaceBody requires a preceding readBody')
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const before = this.queue?.reduce((sum, chunk) => sum + chunk.length, 0) ?? 0
    if (!this.reserveMemory(bytes.length)) throw rejectBody(GATEWAY_ID)
    countBuffered(this, this.bufferedBytes - Math.min(before, this.bufferedBytes))
    this.dropQueue()
    if (bytes.length > 0) this.queue = [bytes]
    ;(this as { bodyLength: number }).bodyLength = bytes.length
    removeDigests(this.headers)
  }

  /**
   * Reserves memory for request body bytes until the exchange ends. Returns false if all exchanges of the process
   * together buffer too many bytes; the caller should respond with `rejectBody`.
   */
  reserveMemory(bytes: number): boolean {
    if (!mayBuffer(this, bytes)) return false
    countBuffered(this, this.bufferedBytes + bytes)
    return true
  }

  /** Counts request body bytes waiting in the connection to a backend. May end the exchange. */
  countSending(bytes: number): void {
    const more = bytes - this.sendingBytes
    if (more === 0 || this.finished) return
    this.sendingBytes = bytes
    countBuffered(this, this.bufferedBytes + more)
  }

  /** False for a collected, complete body: it belongs to a call in flight, which does not end to free memory. */
  get isDroppable(): boolean {
    return !this.bodyDone || this.sendingBytes > 0
  }

  dropBufferedBody(isLarge: boolean): void {
    this.sendingBytes = 0
    this.isBodyDropped = true
    this.dropQueue()
    this.abortWith(isLarge ? bufferLimitExceeded(this.bytesIn) : rejectBody(GATEWAY_ID))
  }

  /** Pauses reading of the request body until {@link resumeBody} is called. Bytes in flight still arrive. */
  pauseBody(): void {
    if (this.bodyPaused || this.bodyDone || this.finished) return
    this.bodyPaused = true
    this.pauseRead()
  }

  /** Resumes reading after {@link pauseBody}. */
  resumeBody(): void {
    if (!this.bodyPaused) return
    this.bodyPaused = false
    if (!this.bodyDone && !this.finished) this.resumeRead()
  }

  /** Called by listeners with the next chunk of the request body, only valid during the call. */
  protected receive(chunk: Uint8Array, last: boolean): void {
    if (this.bodyDone || this.aborted) return
    this.bytesIn += chunk.length
    if (last) this.bodyDone = true
    // The response does not need the body: the rest is discarded, and the connection closes after the response.
    if (this.finished || (this.answered && this.peer === undefined)) return
    if (this.bytesIn > this.bodyLimit) return this.abortWith(tooLarge(this.bodyLimit))
    if (this.reading && this.peer !== undefined) return this.peer.onRequestBody(chunk, last)
    this.queue ??= []
    this.queue.push(copyToBuffer(chunk))
    const bytes = chunk.length + PIECE_BYTES
    this.queuedBytes += bytes
    if (this.queuedBytes > QUEUE_MAX_BYTES) this.pauseBody()
    countBuffered(this, this.bufferedBytes + bytes)
  }

  /** Ends the exchange after a failure. */
  abstract abortWith(error: GatewayError): void
  protected abstract pauseRead(): void
  protected abstract resumeRead(): void

  /** Buffers the body received so far for the next peer. */
  private requeue(chunks: Uint8Array[], bytes: number): void {
    this.peer = undefined
    this.reading = false
    this.queue = chunks
    this.queuedBytes = Math.min(bytes, this.bufferedBytes)
    if (bytes > QUEUE_MAX_BYTES) this.pauseBody()
  }

  protected dropQueue(): void {
    const queue = this.queue
    if (queue === undefined) return
    this.queue = undefined
    this.queuedBytes = 0
    for (const chunk of queue) releaseBuffer(chunk)
  }

  protected dropPeer(): void {
    const peer = this.peer
    this.peer = undefined
    peer?.onAbort()
  }
}

/** Creates the error for a request body longer than `limit` bytes. */
export function tooLarge(limit: number): GatewayError {
  return new GatewayError(GATEWAY_ID, 413, `request body exceeds the limit of ${limit} bytes`)
}

function bufferLimitExceeded(bytesIn: number): GatewayError {
  const detail = `Request body too large to buffer: the client sent ${bytesIn} bytes, faster than the backend reads them. Raise max_buffered or send more slowly.`
  return new GatewayError(GATEWAY_ID, 413, detail)
}

// A single long file: writing, deferring and pausing share the state of an exchange.

import { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { LONG_REPLY_BYTES } from '../../limits/memory-budget.ts'
import { type PeerAddresses, toAddress } from '../peer-addresses.ts'
import { encodeReplyHead } from '../reply-head.ts'
import type { RequestValidator } from '../request-validator.ts'
import { MAX_CHECKS, uploads, type WatchedUpload } from '../upload-watchdog.ts'
import { INTERNAL_ERROR } from '../websocket/close-codes.ts'
import { upgradeRequired, validateHandshake } from '../websocket/handshake.ts'
import type { AcceptOptions, ServerSocket, SocketReceiver } from '../websocket/session.ts'
import type { TunnelTarget } from '../websocket/tunnel-target.ts'
import { type DeferredReply, deferReply, deferUntilNextTick, tick } from './deferred-replies.ts'
import { resumeReading, switchBy } from './pause.ts'
import type { SocketOwner } from './peer.ts'
import type { HttpRequest, HttpResponse, SocketContext } from './uws-types.d.ts'
import type { SocketData, SocketExchange, Sockets } from './websocket.ts'

// The exchange whose response is being written. `cork` takes a callback, and sharing one saves a closure per response.
let corked: UwsExchange
let corkedBody: string | Uint8Array = ''
const writeWhole = () => corked.writeWhole(corkedBody)

/** Number of bytes buffered within a tick at which the writer of a stream must wait. */
const DEFERRED_MAX_BYTES = 64 * 1024

/**
 * Maximum payload, without framing, that fits into one `cork` of the library. It buffers 16 KiB. If a chunk does not
 * fit, the buffer is written first, and if the socket accepts none of it, the chunk is lost (20.51) unless it was
 * passed to `tryEnd`.
 */
const PIECE_BYTES = 15 * 1024

const EVENTS_TYPE = /^text\/event-stream[ \t]*(?:;|$)/i
/**
 * A comment line of server-sent events (WHATWG HTML §9.2.6). Library versions before 20.52 send the head of a chunked
 * response only with its first bytes, and an `EventSource` opens with the head.
 */
const EVENTS_COMMENT = Buffer.from(':\n')

/** Maximum body bytes of a finished request that are read in one tick. */
const FLOOD_BYTES = 4 * 1024 * 1024

/** Shared by the exchanges of a listener. */
export interface Life {
  readonly peers: PeerAddresses
  /** Whether the library version supports pausing WebSockets. */
  readonly pausesWebSockets: boolean
  /** Whether every response ends its connection. */
  draining: boolean
}

/** Data of a WebSocket handshake. */
interface Upgrade {
  readonly context: SocketContext
  readonly key: string
  readonly sockets: Sockets
}

/** A request on µWebSockets. */
export class UwsExchange extends Exchange implements SocketExchange, WatchedUpload, DeferredReply {
  #res: HttpResponse
  readonly #lifecycle: Life
  #address: string | undefined = undefined
  readonly #upgrade: Upgrade | undefined
  /** Owner of the WebSocket that the exchange has become or is about to become. */
  #owner: SocketOwner | undefined = undefined
  #protocol = ''
  /** Tick at whose end the response is sent; -1 if not deferred. */
  #deferTick: number
  /** Deferred writes, in order. */
  #deferred: (() => void)[] | undefined = undefined
  #bufferedBytes = 0
  /** Body length announced to the client, in bytes; -1 if chunked. */
  #length = -1
  #headSent = false
  #readPaused = false
  /** Body bytes received in the last tick with body bytes. */
  #tickBytes = 0
  /**
   * Whether the body arrives in several chunks, its last chunk arrived while paused, or the client reads the response
   * slowly.
   */
  #isFollowed = false
  /** Number of checks since the client last read part of the response. */
  #stalledChecks = 0
  /** Whether the client requested the close, which the library handles. */
  readonly #clientCloses: boolean
  /** Rest of the last chunk that the socket did not accept. */
  #rest: Uint8Array | undefined = undefined
  #ending = false
  /** False from an incomplete write until the socket accepts more. */
  #writes = true
  /** Whether `#writes` was ever false. */
  #wasSlow = false

  constructor(
    method: string,
    res: HttpResponse,
    req: HttpRequest,
    guard: RequestValidator,
    secure: boolean,
    context: SocketContext | undefined,
    sockets: Sockets,
    life: Life,
  ) {
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    let malformed = guard.validate(method, path, query)
    // The library recognizes a WebSocket request by its key only.
    const upgrade = guard.websocket && method === 'GET'
    if (upgrade) malformed ??= validateHandshake(guard.headers, guard.bodyLength)
    super(method, guard.path, query, guard.host, guard.headers, secure, guard.bodyLength, upgrade)
    this.#res = res
    this.#lifecycle = life
    this.#address = life.peers.only
    this.#upgrade =
      upgrade && context !== undefined
        ? { context, key: guard.headers.get('sec-websocket-key') ?? '', sockets }
        : undefined
    this.malformed = malformed
    this.#clientCloses = guard.clientCloses
    this.closing = guard.closing || malformed !== undefined
    this.#deferTick = this.closing || this.bodyLength !== 0 ? deferUntilNextTick() : -1
    res.onAborted(() => this.abort())
    if (this.bodyLength !== 0 && malformed === undefined) {
      res.onData((chunk, last) => {
        if (this.#exceedsBufferLimit(chunk.byteLength)) return this.closeConnection()
        this.#follow(last)
        this.#deferTick = deferUntilNextTick()
        this.receive(new Uint8Array(chunk), last)
      })
    }
  }

  get isDone(): boolean {
    return this.finished
  }

  override get writesDate(): boolean {
    return true
  }

  get isAwaited(): boolean {
    return !this.bodyDone && !this.#readPaused && !this.allowsIdleBody
  }

  /**
   * The library closes a connection after about ten seconds unless an upload on it is fast or the client reads the
   * response. Resuming restarts that timeout.
   */
  onCheck(): void {
    if (this.#readPaused) return
    if (this.#writes) this.#stalledChecks = 0
    else if (++this.#stalledChecks > MAX_CHECKS) return
    resumeReading(this.#res)
  }

  get remoteAddress(): string {
    if (this.#address === undefined) {
      if (this.finished) return ''
      this.#address = toAddress(this.#res.getRemoteAddress())
    }
    return this.#address
  }

  tunnel(target: TunnelTarget): Promise<void> {
    if (this.#upgrade !== undefined) return this.#upgrade.sockets.tunnel(this, target)
    return Promise.reject(upgradeRequired())
  }

  accept(receiver: SocketReceiver, options: AcceptOptions = {}): ServerSocket | undefined {
    if (this.answered) return undefined
    if (this.#upgrade === undefined) throw upgradeRequired()
    return this.#upgrade.sockets.accept(this, receiver, options)
  }

  openSocket(owner: SocketOwner, protocol: string, headers: HeaderList): boolean {
    this.#owner = owner
    this.#protocol = protocol
    this.startWebSocket(headers)
    if (this.#headSent && !this.finished && this.status === 101) return true
    this.#owner = undefined
    this.end()
    return false
  }

  socketEnded(aborted: boolean): void {
    this.aborted = aborted
    this.finish()
  }

  protected transmit(body: string | Uint8Array): void {
    if (this.#deferTick === tick) {
      // The next read overwrites the memory of an upstream response.
      const copy = typeof body === 'string' ? body : Uint8Array.prototype.slice.call(body)
      this.#defer(() => this.transmit(copy))
      return
    }
    this.#unpause()
    this.closing ||= this.#lifecycle.draining
    if (body.length > PIECE_BYTES && !this.#isBodyless()) return this.#transmitLong(body)
    corked = this
    corkedBody = body
    this.#res.cork(writeWhole)
    this.finish()
  }

  /** Sends at the client's pace, because the library buffers an unreported number of bytes. */
  #transmitLong(body: string | Uint8Array): void {
    const res = this.#res
    const isText = typeof body === 'string'
    const bytes = isText ? Buffer.from(body) : body
    if (bytes.length > LONG_REPLY_BYTES) this.awaitClient(bytes.length)
    this.bytesOut = bytes.length
    res.onWritable(() => this.#writable())
    // A response after which the gateway closes the connection has no length, see `transmitHead`.
    if (this.#isClosedByGateway) {
      this.#ending = true
      if (this.#writePieces(bytes, isText)) this.transmitEnd()
      return
    }
    this.#length = bytes.length
    res.cork(() => {
      this.#writeHead()
      this.#writes = this.#tryWrite(bytes, isText)
    })
    if (!this.#writes) this.#slowDown()
  }

  writeWhole(body: string | Uint8Array): void {
    const res = this.#res
    this.#writeHead()
    if (this.#isBodyless()) return this.#endBodyless(this.method === 'HEAD' ? byteLength(body) : -1)
    this.bytesOut = byteLength(body)
    res.end(body, this.closing)
  }

  protected transmitHead(length: number): void {
    if (this.#owner !== undefined && this.status === 101)
      return this.#upgradeConnection(this.#owner)
    if (this.#deferTick === tick) {
      this.#defer(() => this.transmitHead(length))
      return
    }
    this.closing ||= this.#lifecycle.draining
    // A response that closes the connection cannot be streamed with a length: the library only closes with a complete
    // body or a chunked end.
    this.#length = this.closing ? -1 : length
    const res = this.#res
    if (this.#isBodyless()) {
      res.cork(() => {
        this.#writeHead()
        this.#endBodyless(length)
      })
      this.finish()
      return
    }
    // Must be registered before the first write; otherwise the library ends a stream some seconds after its
    // back-pressure has ended.
    res.onWritable(() => this.#writable())
    // The head is sent with the first chunk, or separately if no chunk follows in this tick.
    setImmediate(() => this.#flushHead())
  }

  protected transmitChunk(chunk: Uint8Array): boolean {
    if (this.#deferTick === tick) {
      const copy = Uint8Array.prototype.slice.call(chunk)
      this.#defer(() => this.transmitChunk(copy))
      this.#bufferedBytes += chunk.length
      return this.#writes && this.#bufferedBytes < DEFERRED_MAX_BYTES
    }
    if (chunk.length === 0) return true
    if (this.#length < 0) return this.#writePieces(chunk, false)
    if (this.#isChecked && this.#res.getWriteOffset() + chunk.length >= this.#length) {
      // See `#endOfPiece`.
      if (chunk.length > 1) this.#tryPiece(chunk.subarray(0, -1))
      this.#tryPiece(chunk.subarray(-1))
    } else this.#tryPiece(chunk)
    if (!this.#writes) this.#slowDown()
    return this.#writes
  }

  #tryPiece(chunk: Uint8Array): void {
    this.#res.cork(() => {
      this.#headOnce()
      this.#writes = this.#tryWrite(chunk, false)
    })
  }

  /**
   * Writes a chunk of a response of unknown length. Once the socket has not accepted a chunk, later chunks are
   * buffered, and copied unless `isOwned` is set.
   */
  #writePieces(chunk: Uint8Array, isOwned: boolean): boolean {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, chunk])
      return false
    }
    const res = this.#res
    if (!this.#headSent) res.cork(() => this.#writePiecesHead())
    let at = 0
    this.#writes = true
    while (this.#writes && at < chunk.length) {
      const end = this.#endOfPiece(at, chunk.length)
      const piece = chunk.subarray(at, end)
      at = end
      res.cork(() => {
        this.#writes = res.write(piece)
      })
    }
    if (!this.#writes) this.#slowDown()
    if (at >= chunk.length) return this.#writes
    const rest = chunk.subarray(at)
    this.#rest = isOwned ? rest : Uint8Array.prototype.slice.call(rest)
    return false
  }

  /**
   * Only the next write shows whether the socket accepted the buffered bytes, so the last byte is written separately
   * where necessary: if the response ended while the library still has bytes, draining the listener would close the
   * connection before they are sent.
   */
  #endOfPiece(at: number, length: number): number {
    const remaining = length - at
    if (remaining > PIECE_BYTES) return at + PIECE_BYTES
    return this.#isChecked && remaining > 1 ? length - 1 : length
  }

  /** The client was slow, or the listener is about to close. */
  get #isChecked(): boolean {
    return this.#wasSlow || this.#lifecycle.draining
  }

  protected transmitEnd(): void {
    if (this.#deferTick === tick) {
      this.#defer(() => this.transmitEnd())
      return
    }
    if (this.finished) return
    if (!this.#writes) {
      this.#ending = true
      return
    }
    this.#unpause()
    this.#res.cork(() => {
      if (this.#headSent) this.#endChunked()
      else {
        this.#writeHead()
        this.#res.end('', this.closing)
      }
    })
    this.finish()
  }

  /**
   * To close the connection, the library would write `Connection: close` after the last chunk, inside the body (20.51).
   * The head already contains it. The connection is no longer read; the client closes it, or the library after ten
   * seconds.
   */
  #endChunked(): void {
    if (this.#isClosedByGateway) this.#res.pause()
    this.#res.end()
  }

  protected override get isHeadPending(): boolean {
    return (
      this.streaming && !this.#headSent && this.#owner === undefined && this.#deferred === undefined
    )
  }

  protected closeConnection(code: number = INTERNAL_ERROR, reason = 'internal error'): void {
    if (this.finished) return
    if (this.#owner !== undefined) this.#owner.close(code, reason)
    // A complete response that is sent at the end of the tick is not replaced, since a promise of the chain may reject
    // after it.
    else if (this.#deferred !== undefined && !this.streaming) return
    // The library calls the abort callback, which ends the exchange.
    else this.#res.close()
  }

  protected pauseRead(): void {
    this.#readPaused = true
    this.#res.pause()
  }

  protected resumeRead(): void {
    this.#readPaused = false
    resumeReading(this.#res)
  }

  /**
   * Whether the client of a finished request sends so fast that the tick does not end. The library reads a socket again
   * while it fills the whole buffer of 512 KiB, even if it is paused.
   */
  #exceedsBufferLimit(bytes: number): boolean {
    this.#tickBytes = this.#deferTick === tick ? this.#tickBytes + bytes : bytes
    // A response that is still streaming may belong to a client that sends at the same time.
    const isEnded = this.finished || (this.answered && !this.streaming)
    return isEnded && this.#tickBytes > FLOOD_BYTES
  }

  /** Handles a chunk of the body. A body in a single chunk, the usual case, needs no watchdog. */
  #follow(last: boolean): void {
    if (!last || this.#readPaused) {
      this.#watch()
      // A connection that stays paused would neither receive the next request nor notice its end. Resuming starts the
      // timeout of the library: the watchdog restarts it until the response.
      if (last) this.#unpause()
    } else if (this.#isFollowed) {
      this.#isFollowed = false
      uploads.unwatch(this)
    }
  }

  #slowDown(): void {
    this.#wasSlow = true
    this.#watch()
  }

  #watch(): void {
    if (this.#isFollowed) return
    this.#isFollowed = true
    uploads.watch(this)
  }

  #unpause(): void {
    if (this.#readPaused) this.resumeRead()
  }

  /** Performs the deferred writes. */
  release(): void {
    const sends = this.#deferred
    if (sends === undefined) return
    const wasFull = this.#bufferedBytes >= DEFERRED_MAX_BYTES
    this.#deferred = undefined
    this.#bufferedBytes = 0
    for (const send of sends) if (!this.finished) send()
    // The writer may be waiting although the client accepted everything.
    if (wasFull && this.#writes && !this.finished) this.drained()
  }

  /** Defers a write after the writes already deferred. */
  #defer(send: () => void): void {
    if (this.#deferred === undefined) {
      deferReply(this)
      this.#deferred = [send]
    } else this.#deferred.push(send)
  }

  #upgradeConnection(owner: SocketOwner): void {
    // Stored because it is no longer available once the response has become a WebSocket.
    this.#address = this.remoteAddress
    const { context, key } = this.#upgrade!
    const res = this.#res
    const toSwitch = this.#lifecycle.pausesWebSockets ? switchBy(res) : undefined
    const data: SocketData = { owner, toSwitch }
    res.cork(() => this.#writeHead())
    // Outside `cork`, although the library writes a warning to stderr: at the end of `cork`, 20.51 treats the new
    // WebSocket as a response and randomly closes it.
    res.upgrade(data, key, this.#protocol, '', context)
  }

  /** Whether the gateway must close the connection; the library closes it itself if the client also requested it. */
  get #isClosedByGateway(): boolean {
    return this.closing && !this.#clientCloses
  }

  #isBodyless(): boolean {
    return this.method === 'HEAD' || this.status === 204 || this.status === 304
  }

  #endBodyless(length: number): void {
    const res = this.#res
    // A 204 never has a length. Other responses have the length of a GET response, or none (RFC 9110 §8.6).
    if (length >= 0 && this.status !== 204) res.writeHeader('content-length', String(length))
    // To close the connection, the library adds another length (20.51). See `#endChunked`.
    if (this.#isClosedByGateway) {
      res.writeHeader('connection', 'close')
      res.pause()
    }
    res.endWithoutBody()
  }

  #headOnce(): void {
    if (!this.#headSent) this.#writeHead()
  }

  #writeHead(): void {
    this.#headSent = true
    this.#res.writeStatus(encodeReplyHead(this.status, this.replyHeaders))
  }

  /** Writes the head of a response of unknown length. */
  #writePiecesHead(): void {
    this.#writeHead()
    if (this.#isClosedByGateway) this.#res.writeHeader('connection', 'close')
  }

  /** Sends the head of a stream before its first chunk, if the library supports it. */
  #flushHead(): void {
    if (this.#headSent || this.finished) return
    const res = this.#res
    if (this.#length > 0) {
      res.cork(() => {
        this.#writeHead()
        res.tryEnd('', this.#length)
      })
    } else if (this.#length < 0 && res.beginWrite !== undefined) {
      res.cork(() => {
        this.#writePiecesHead()
        res.beginWrite!()
      })
    } else if (this.#length < 0 && isPlainEventStream(this.replyHeaders)) {
      this.#writePieces(EVENTS_COMMENT, true)
    }
  }

  /**
   * Writes a chunk of a response of known length. The rest that the socket does not accept is buffered, and copied
   * unless `isOwned` is set.
   */
  #tryWrite(chunk: Uint8Array, isOwned: boolean): boolean {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, chunk])
      return false
    }
    const res = this.#res
    const before = res.getWriteOffset()
    const [ok, done] = res.tryEnd(chunk, this.#length)
    if (done) {
      this.finish()
      return true
    }
    if (ok) return true
    const rest = chunk.subarray(res.getWriteOffset() - before)
    this.#rest = isOwned ? rest : Uint8Array.prototype.slice.call(rest)
    return false
  }

  #writable(): boolean {
    if (this.finished) return true
    this.#stalledChecks = 0
    const rest = this.#rest
    if (rest !== undefined) {
      this.#rest = undefined
      const isWritten =
        this.#length < 0 ? this.#writePieces(rest, true) : this.#tryWrite(rest, true)
      if (!isWritten) return false
      if (this.finished) return true
    }
    this.#writes = true
    if (this.#ending) this.transmitEnd()
    else this.drained()
    return true
  }
}

/** With a content coding, the comment would corrupt the encoded bytes. */
function isPlainEventStream(headers: HeaderList): boolean {
  return EVENTS_TYPE.test(headers.get('content-type') ?? '') && !headers.has('content-encoding')
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

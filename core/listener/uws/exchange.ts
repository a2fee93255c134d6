// One file, though long: a reply, its holding back and its client's pause share the state of one exchange.

import { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { LONG_REPLY_BYTES } from '../../limits/memory-budget.ts'
import { type PeerAddresses, toAddress } from '../peer-addresses.ts'
import { toReplyHead } from '../reply-head.ts'
import type { RequestValidator } from '../request-validator.ts'
import { LOOKS, uploads, type WatchedUpload } from '../upload-watchdog.ts'
import { INTERNAL_ERROR } from '../websocket/close-codes.ts'
import { upgradeRequired, validateHandshake } from '../websocket/handshake.ts'
import type { AcceptOptions, ServerSocket, SocketReceiver } from '../websocket/session.ts'
import type { TunnelTarget } from '../websocket/tunnel-target.ts'
import { type DeferredReply, deferReply, deferUntilNextTick, tick } from './deferred-replies.ts'
import { readOn, switchBy } from './pause.ts'
import type { SocketOwner } from './peer.ts'
import type { HttpRequest, HttpResponse, SocketContext } from './uws-types.d.ts'
import type { SocketData, SocketExchange, Sockets } from './websocket.ts'

// The exchange whose reply is being written: `cork` takes a callback, and one
// shared by all exchanges saves a closure per reply.
let corked: UwsExchange
let corkedBody: string | Uint8Array = ''
const writeWhole = () => corked.writeWhole(corkedBody)

/** Bytes of a stream held until the turn is over, before its writer is told to hold back. */
const HELD_MAX_BYTES = 64 * 1024

/**
 * What fits into one `cork` of the library beside the framing. It gathers 16 KiB; when a piece does not fit in behind what it has, that goes
 * out first, and where the socket takes none of it the piece is lost (20.51), unless it was offered by `tryEnd`.
 */
const PIECE_BYTES = 15 * 1024

const EVENTS_TYPE = /^text\/event-stream[ \t]*(?:;|$)/i
/**
 * A line that readers of server-sent events ignore (WHATWG HTML §9.2.6). Versions of the library before 20.52 send the head of a chunked
 * response only with its first bytes, and an `EventSource` is open once it has the head.
 */
const EVENTS_COMMENT = Buffer.from(':\n')

/** Body bytes of an ended request that one tick may bring. */
const FLOOD_BYTES = 4 * 1024 * 1024

/** What a listener's exchanges share. */
export interface Life {
  readonly peers: PeerAddresses
  /** Whether WebSockets of the library's version can be paused. */
  readonly pausesWebSockets: boolean
  /** Every reply ends its connection. */
  draining: boolean
}

/** What turns a response into a WebSocket. */
interface Upgrade {
  readonly context: SocketContext
  readonly key: string
  readonly sockets: Sockets
}

/** One request on µWebSockets. */
export class UwsExchange extends Exchange implements SocketExchange, WatchedUpload, DeferredReply {
  #res: HttpResponse
  readonly #life: Life
  #address: string | undefined = undefined
  readonly #upgrade: Upgrade | undefined
  /** Of the WebSocket it has become, or is about to become. */
  #owner: SocketOwner | undefined = undefined
  #protocol = ''
  /** The last turn of the event loop in which it must not be answered; -1: any will do. */
  #heldTurn: number
  /** What is to be sent when it is over, in order. */
  #held: (() => void)[] | undefined = undefined
  #bufferedBytes = 0
  /** Body bytes announced to the client; -1: chunked. */
  #length = -1
  #headSent = false
  #readPaused = false
  /** Body bytes received in the last tick that brought some. */
  #tickBytes = 0
  /** The body comes in pieces, or its last one came while it was held back; or its client is slow to take the reply. */
  #isFollowed = false
  /** Looks at it since its client took something of the reply. */
  #stalledLooks = 0
  /** The client asked for the end of the connection, which the library knows of. */
  readonly #clientCloses: boolean
  /** What the socket did not take of the last chunk of a reply. */
  #rest: Uint8Array | undefined = undefined
  #ending = false
  /** False from a write the socket did not take whole until it takes more. */
  #writes = true
  /** It was false before. */
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
    let malformed = guard.judge(method, path, query)
    // The library takes a request for a WebSocket by its key alone.
    const upgrade = guard.websocket && method === 'GET'
    if (upgrade) malformed ??= validateHandshake(guard.headers, guard.bodyLength)
    super(method, guard.path, query, guard.host, guard.headers, secure, guard.bodyLength, upgrade)
    this.#res = res
    this.#life = life
    this.#address = life.peers.sole
    this.#upgrade =
      upgrade && context !== undefined
        ? { context, key: guard.headers.get('sec-websocket-key') ?? '', sockets }
        : undefined
    this.malformed = malformed
    this.#clientCloses = guard.clientCloses
    this.closing = guard.closing || malformed !== undefined
    this.#heldTurn = this.closing || this.bodyLength !== 0 ? deferUntilNextTick() : -1
    res.onAborted(() => this.abort())
    if (this.bodyLength !== 0 && malformed === undefined) {
      res.onData((chunk, last) => {
        if (this.#floods(chunk.byteLength)) return this.cut()
        this.#follow(last)
        this.#heldTurn = deferUntilNextTick()
        this.receive(new Uint8Array(chunk), last)
      })
    }
  }

  get isOver(): boolean {
    return this.finished
  }

  get isAwaited(): boolean {
    return !this.bodyDone && !this.#readPaused && !this.patient
  }

  /**
   * The library gives up a connection after some ten seconds, unless an upload on it is fast, or its client takes something of a
   * reply. Reading on has it begin anew.
   */
  onLook(): void {
    if (this.#readPaused) return
    if (this.#writes) this.#stalledLooks = 0
    else if (++this.#stalledLooks > LOOKS) return
    readOn(this.#res)
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
    if (this.#heldTurn === tick) {
      // A reply from upstream lies in memory that the next read overwrites.
      const kept = typeof body === 'string' ? body : Uint8Array.prototype.slice.call(body)
      this.#hold(() => this.transmit(kept))
      return
    }
    this.#unpause()
    this.closing ||= this.#life.draining
    if (body.length > PIECE_BYTES && !this.#isBodyless()) return this.#transmitLong(body)
    corked = this
    corkedBody = body
    this.#res.cork(writeWhole)
    this.finish()
  }

  /** As the client takes it: what the library has been given it keeps, and nobody is told how much that is. */
  #transmitLong(body: string | Uint8Array): void {
    const res = this.#res
    const isText = typeof body === 'string'
    const bytes = isText ? Buffer.from(body) : body
    if (bytes.length > LONG_REPLY_BYTES) this.awaitClient(bytes.length)
    this.bytesOut = bytes.length
    res.onWritable(() => this.#writable())
    // One that closes the connection by our wish has no length, as in `transmitHead`.
    if (this.#closesByOurWish) {
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
    if (this.#owner !== undefined && this.status === 101) return this.#become(this.#owner)
    if (this.#heldTurn === tick) {
      this.#hold(() => this.transmitHead(length))
      return
    }
    this.closing ||= this.#life.draining
    // A reply that closes the connection cannot be written piecewise with a
    // length: the library takes the wish to close only with a whole body or a
    // chunked end.
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
    // Must be in place before the first write: without it the library ends a
    // stream some seconds after its back-pressure has gone.
    res.onWritable(() => this.#writable())
    // The head goes out with the first chunk, or on its own when none comes at once.
    setImmediate(() => this.#flushHead())
  }

  protected transmitChunk(chunk: Uint8Array): boolean {
    if (this.#heldTurn === tick) {
      const copy = Uint8Array.prototype.slice.call(chunk)
      this.#hold(() => this.transmitChunk(copy))
      this.#bufferedBytes += chunk.length
      return this.#writes && this.#bufferedBytes < HELD_MAX_BYTES
    }
    if (chunk.length === 0) return true
    if (this.#length < 0) return this.#writePieces(chunk, false)
    if (this.#isChecked && this.#res.getWriteOffset() + chunk.length >= this.#length) {
      // As in `#endOfPiece`.
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

  /** Writes a piece of a reply of unknown length; what comes behind one that the socket refuses is kept, copied unless its memory is `ours`. */
  #writePieces(chunk: Uint8Array, ours: boolean): boolean {
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
    this.#rest = ours ? rest : Uint8Array.prototype.slice.call(rest)
    return false
  }

  /**
   * Of what the library gathers it cannot say whether the socket takes it: that shows with the next write. So the last byte is one of its own
   * where that matters: with the reply over while the library still has bytes, whoever drains the listener would close it on them.
   */
  #endOfPiece(at: number, length: number): number {
    const left = length - at
    if (left > PIECE_BYTES) return at + PIECE_BYTES
    return this.#isChecked && left > 1 ? length - 1 : length
  }

  /** The client has been slow, or the listener is about to close. */
  get #isChecked(): boolean {
    return this.#wasSlow || this.#life.draining
  }

  protected transmitEnd(): void {
    if (this.#heldTurn === tick) {
      this.#hold(() => this.transmitEnd())
      return
    }
    if (this.finished) return
    if (!this.#writes) {
      this.#ending = true
      return
    }
    this.#unpause()
    this.#res.cork(() => {
      if (this.#headSent) this.#endPieces()
      else {
        this.#writeHead()
        this.#res.end('', this.closing)
      }
    })
    this.finish()
  }

  /**
   * Asked to close the connection the library would write `Connection: close` behind the last piece, amid the body (20.51): the head has
   * it. Nothing more is read of the connection, which its client closes, or the library after ten seconds.
   */
  #endPieces(): void {
    if (this.#closesByOurWish) this.#res.pause()
    this.#res.end()
  }

  protected override get isHeadPending(): boolean {
    return (
      this.streaming && !this.#headSent && this.#owner === undefined && this.#held === undefined
    )
  }

  protected cut(code: number = INTERNAL_ERROR, reason = 'internal error'): void {
    if (this.finished) return
    if (this.#owner !== undefined) this.#owner.close(code, reason)
    // The library answers with the abort callback, which ends the exchange.
    else this.#res.close()
  }

  protected pauseRead(): void {
    this.#readPaused = true
    this.#res.pause()
  }

  protected resumeRead(): void {
    this.#readPaused = false
    readOn(this.#res)
  }

  /**
   * Whether the client of an ended request sends so fast that the tick does not end: the library reads a socket on while it fills
   * the whole buffer, 512 KiB, also when it is paused.
   */
  #floods(bytes: number): boolean {
    this.#tickBytes = this.#heldTurn === tick ? this.#tickBytes + bytes : bytes
    // A response that is still streaming may be for a client that sends at the same time.
    const isEnded = this.finished || (this.answered && !this.streaming)
    return isEnded && this.#tickBytes > FLOOD_BYTES
  }

  /** For a piece of the body: one in a single piece, as most are, needs nobody who looks after it. */
  #follow(last: boolean): void {
    if (!last || this.#readPaused) {
      this.#watch()
      // A connection that stays paused would neither take the next request nor notice its end. Reading on has the library's timer
      // begin: looked after, it goes on until the reply.
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

  /** Sends what was held. */
  release(): void {
    const sends = this.#held
    if (sends === undefined) return
    const wasFull = this.#bufferedBytes >= HELD_MAX_BYTES
    this.#held = undefined
    this.#bufferedBytes = 0
    for (const send of sends) if (!this.finished) send()
    // Whoever was told to hold back, though the client takes all of it.
    if (wasFull && this.#writes && !this.finished) this.drained()
  }

  /** Keeps what is to be sent, behind what is kept already. */
  #hold(send: () => void): void {
    if (this.#held === undefined) {
      deferReply(this)
      this.#held = [send]
    } else this.#held.push(send)
  }

  #become(owner: SocketOwner): void {
    // Not to be had any more once the response has become a WebSocket.
    this.#address = this.remoteAddress
    const { context, key } = this.#upgrade!
    const res = this.#res
    const toSwitch = this.#life.pausesWebSockets ? switchBy(res) : undefined
    const data: SocketData = { owner, toSwitch }
    res.cork(() => this.#writeHead())
    // Outside of `cork`, although the library writes a warning to stderr for it: what 20.51 does
    // at the end of `cork` takes the new WebSocket for a response, and at random closes it.
    res.upgrade(data, key, this.#protocol, '', context)
  }

  /** Where the client asked for it, too, the library closes the connection by itself. */
  get #closesByOurWish(): boolean {
    return this.closing && !this.#clientCloses
  }

  #isBodyless(): boolean {
    return this.method === 'HEAD' || this.status === 204 || this.status === 304
  }

  #endBodyless(length: number): void {
    const res = this.#res
    // A 204 never announces a length; the others announce that of a GET, or none (RFC 9110 §8.6).
    if (length >= 0 && this.status !== 204) res.writeHeader('content-length', String(length))
    // Asked to close the connection, the library announces a length of its own (20.51). As in `#endPieces`.
    if (this.#closesByOurWish) {
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
    this.#res.writeStatus(toReplyHead(this.status, this.replyHeaders))
  }

  /** The head of a reply of unknown length. */
  #writePiecesHead(): void {
    this.#writeHead()
    if (this.#closesByOurWish) this.#res.writeHeader('connection', 'close')
  }

  /** Sends the head of a stream whose first chunk is not there yet, where the library can. */
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

  /** Writes a piece of a reply of known length; what the socket refuses is kept, copied unless its memory is `ours`. */
  #tryWrite(chunk: Uint8Array, ours: boolean): boolean {
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
    this.#rest = ours ? rest : Uint8Array.prototype.slice.call(rest)
    return false
  }

  #writable(): boolean {
    if (this.finished) return true
    this.#stalledLooks = 0
    const rest = this.#rest
    if (rest !== undefined) {
      this.#rest = undefined
      const isTaken = this.#length < 0 ? this.#writePieces(rest, true) : this.#tryWrite(rest, true)
      if (!isTaken) return false
      if (this.finished) return true
    }
    this.#writes = true
    if (this.#ending) this.transmitEnd()
    else this.drained()
    return true
  }
}

/** A content coding would make the comment part of the coded bytes. */
function isPlainEventStream(headers: HeaderList): boolean {
  return EVENTS_TYPE.test(headers.get('content-type') ?? '') && !headers.has('content-encoding')
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

// One file, though long: the one shape that all stages see; half of it is documentation.
// Imported, because the global of that name is a getter: dear for what is asked for several times a request.
import type { LookupFunction } from 'node:net'
import { performance } from 'node:perf_hooks'
import { inspect } from 'node:util'
import { copyToBuffer, releaseBuffer } from '../lib/io/buffer-pool.ts'
import { ByteBuffer } from '../lib/io/byte-buffer.ts'
import { tickNow } from '../lib/time/tick-clock.ts'
import type { CallTarget } from './auth/policy/decision.ts'
import { type Chain, compileChain, type ReportFault } from './chain.ts'
import type { Account, Session } from './contracts/auth.ts'
import { formatError, GATEWAY_ID, GatewayError } from './errors.ts'
import { isFinalStatus } from './http/final-status.ts'
import { appendParsed, HeaderList } from './http/headers.ts'
import { mayWait, rejectBody, rejectResponse, replyMemory } from './limits/memory-budget.ts'
import { countBuffered, mayBuffer, type RequestBuffer } from './limits/request-buffers.ts'
import type { AcceptOptions, ServerSocket, SocketReceiver } from './listener/websocket/session.ts'
import type { RequestLine, Route } from './route.ts'
import type { TransportFailure } from './rpc/call.ts'
import { toWireError } from './rpc/grpc/error-reply.ts'
import type { ExchangeTrace } from './tracing/exchange-trace.ts'
import type { FailureKind } from './upstream/call.ts'
import type { Upstream } from './upstream/upstream.ts'

/** The far side of an exchange: whoever consumes the request body and produces a streamed reply. */
export interface Peer {
  /** The next piece of the request body; valid during the call only. `last`: nothing follows but {@link Exchange.requestTrailers}. */
  readonly onRequestBody: (chunk: Uint8Array, last: boolean) => void
  /** {@link Exchange.write} may go on after it returned false. */
  readonly onDrain: () => void
  /** The client left, or the gateway gave the exchange up: nothing more can be sent. */
  readonly onAbort: () => void
  /** The client may not have the rest of the reply, which has begun: to be ended with this error. Missing: it is cut. */
  readonly onRevoke?: (error: GatewayError) => void
}

/** Where a WebSocket is carried on to (RFC 6455). */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Resolves the host name. @default the resolver of the system */
  readonly lookup?: LookupFunction | undefined
  /** Path and query of the opening handshake. */
  readonly target: string
  /** Fields of the opening handshake, without those of the handshake itself. */
  readonly headers: HeaderList
  readonly maxMessageBytes: number
  /** Milliseconds for the connection, TLS handshake included. */
  readonly connectTimeoutMs: number
  /** Milliseconds from the handshake sent to the backend's response. */
  readonly replyTimeoutMs: number
  /** Called with the backend's answer, 101 or any other, before it goes to the client; may change its fields. */
  readonly onAnswer?: (status: number, headers: HeaderList) => void
  /** Called once when an opened tunnel, or the reply in its place, has ended. */
  readonly onClose: () => void
}

/** Request body bytes kept for a peer that is not attached yet, before reading stops. */
const QUEUE_MAX_BYTES = 64 * 1024
/** What a piece takes besides its bytes: bodies may come byte by byte. */
const PIECE_BYTES = 128

/** A path that can stand in a request line: visible ASCII without `?`, `#` and `\` (RFC 9112 §3.2.1). */
const PATH = /^\/[\x21\x22\x24-\x3e\x40-\x5b\x5d-\x7e]*$/

const NO_CHAIN = compileChain(
  [],
  () => {},
  () => {},
)
const NO_HEADERS = new HeaderList()
/** Of a WebSocket (RFC 6455 §7.4.2, private use): 401 among close codes. */
const REVOKED = 4401
const EMPTY = new Uint8Array(0)

/**
 * One request and its response, shared by every stage. Read this first.
 *
 * A listener copies what it needs out of its own request object before it
 * returns, builds a subclass and hands it to the gateway. Every field is set in
 * the constructor, so all exchanges of a listener have the same shape; none is a
 * `#` field, which would keep that constructor out of line (docs/decisions/2026-11-22-fields-are-assigned.md).
 */
export abstract class Exchange implements RequestLine, RequestBuffer {
  readonly method: string
  readonly path: string
  /** As received, without the `?`; empty when there is none. */
  readonly query: string
  readonly host: string
  /** End-to-end fields of the request: hop-by-hop and framing fields are gone (RFC 9110 §7.6.1). What is left here goes upstream. */
  readonly headers: HeaderList
  /** Whether the client came over TLS. */
  readonly secure: boolean
  /** Bytes announced by the client; 0: no body; -1: chunked, length unknown. */
  readonly bodyLength: number
  /** Whether the client asks for a WebSocket. */
  readonly upgrade: boolean
  /** `performance.now()` at arrival. */
  readonly startMs: number
  /** Why the request must not be served: set by the listener, answered by the gateway. */
  malformed: GatewayError | undefined = undefined

  /** Request id (plugin `request-id`). */
  id = ''
  /** The chain that serves it: the one in force when it arrived. */
  chain: Chain = NO_CHAIN
  /** Place in `chain.steps` of the stage that threw or is waited for; -1: none yet. */
  step = -1
  /** A proxy passed it on and did not say for whom, or is not to be believed: who its client is, nobody knows (plugin `forwarded`). */
  relayed = false
  /** Prefix of service names (plugin `namespace`); empty: none. */
  namespace = ''
  /** Who calls, as a plugin found out; undefined: nobody that is known. */
  session: Session | undefined = undefined
  /** The account is of another namespace than the one the request is made in: to whatever is called it is nobody. */
  isForeign = false
  /** Why what the client shows of itself was not taken: the answer, unless another plugin takes it. */
  refusal: GatewayError | undefined = undefined
  /** What it was let in for (plugin `auth`), whatever its path has become since. */
  admitted: CallTarget | undefined = undefined
  /** Called before the request itself goes to a backend, in place of a call: takes out what is for services only. */
  beforeProxy: ((x: Exchange) => void) | undefined = undefined
  /** Most body bytes accepted, then 413 (plugin `body-limit`). */
  bodyLimit: number = Number.POSITIVE_INFINITY
  /** Set by the resolver. */
  route: Route | undefined = undefined
  /** The request itself goes to a backend, in place of a call: what is asked for is its path. Known once it is routed. */
  proxied = false
  /** The routed service's nodes. */
  upstream: Upstream | undefined = undefined
  /** Id of the node it was sent to last; empty before that. */
  node = ''
  /** Why it could not be sent, or got no reply, at the last attempt that failed; empty: none did. */
  failure = ''
  /** What kind of failure that was; empty: none. */
  failureKind: FailureKind | TransportFailure | 'no-node' | '' = ''
  /** `performance.now()` when the request went upstream, and when the reply head came back; 0: not yet. */
  upstreamStartMs = 0
  upstreamReplyMs = 0

  /** Its spans (plugin `tracing`); undefined: nobody traces it. */
  trace: ExchangeTrace | undefined = undefined

  /** True once a reply began or the client left: the rest of the chain is skipped. */
  answered = false
  /** True once the last byte was handed over or the client left. */
  finished = false
  /** True when the exchange ended before its reply was complete. */
  aborted = false
  /** The reply comes in pieces, or is a WebSocket; known from its `onReply` on. */
  streaming = false
  /** Status of the reply; 0 before it. Plugins may change it in `onReply`. */
  status = 0
  /** Status that a client of gRPC or Connect was told, as gRPC numbers it; -1: none. */
  rpcStatus = -1
  /** Fields of the reply, from the first byte of any reply on. Plugins change it in `onReply`. */
  replyHeaders: HeaderList = NO_HEADERS
  /** Body bytes received and sent so far. */
  bytesIn = 0
  bytesOut = 0
  bufferedBytes = 0

  /** The request body is a stream of messages: its client may be silent for as long as it likes. */
  patient = false
  /** The client's connection ends with this reply. */
  protected closing = false
  /** The whole request body was received. */
  protected bodyDone: boolean
  private onFinish: ((x: Exchange) => void) | undefined = undefined
  private onFault: ReportFault | undefined = undefined
  private peer: Peer | undefined = undefined
  /** The peer takes the request body. */
  private reading = false
  private queue: Uint8Array[] | undefined = undefined
  private queuedBytes = 0
  /** Of {@link bufferedBytes}, those handed to a backend's connection that the kernel has not taken yet. */
  private sendingBytes = 0
  /** Counted in `replyMemory`. */
  private waitingBytes = 0
  private bodyPaused = false
  /** The queue was dropped by {@link cutBuffered}: what follows would be a body with a hole. */
  private isBodyCut = false
  private toldAddress: string | undefined = undefined
  private remembered: Map<unknown, unknown> | undefined = undefined

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

  /** IP address of the other end of the connection; empty for a Unix socket. */
  abstract get remoteAddress(): string

  /** IP address of the client: the connection's, unless a trusted proxy named another (plugin `forwarded`). */
  get clientAddress(): string {
    return this.toldAddress ?? this.remoteAddress
  }

  set clientAddress(address: string) {
    this.toldAddress = address
  }

  /** Who calls; undefined: nobody that is known. */
  get account(): Account | undefined {
    return this.session?.account
  }

  /** Who calls, for services and backends to know; undefined: nobody that counts there. */
  get toldAccount(): Account | undefined {
    return this.isForeign ? undefined : this.account
  }

  /** Room for what a plugin remembers about this exchange, by a key of its own. */
  get state(): Map<unknown, unknown> {
    this.remembered ??= new Map()
    return this.remembered
  }

  /** Path and query as received: the request target to send on. */
  get target(): string {
    return this.query === '' ? this.path : `${this.path}?${this.query}`
  }

  /**
   * Changes the path: before routing where the request goes, after it what the backend is asked for.
   *
   * @throws {TypeError} when it is no path, or holds a query.
   */
  rewrite(path: string): void {
    if (!PATH.test(path)) {
      throw new TypeError(
        `path must start with / and hold visible ASCII without ?, # and \\, got ${JSON.stringify(path)}`,
      )
    }
    ;(this as { path: string }).path = path
  }

  /** Version of HTTP the client speaks. */
  get httpVersion(): '1.1' | '2' {
    return '1.1'
  }

  /** Whether the client asks for the trailer fields of the reply (RFC 9110 §6.5.1). Without, {@link end} may leave them out. */
  get takesTrailers(): boolean {
    return false
  }

  /** Trailer fields of the request, complete with the last piece of its body; undefined: none, or the listener drops them. */
  get requestTrailers(): HeaderList | undefined {
    return undefined
  }

  /** Milliseconds since its arrival. */
  get elapsedMs(): number {
    return performance.now() - this.startMs
  }

  /** Ties the exchange to the chain that serves it. Called once, by the gateway. */
  begin(chain: Chain, onFinish: (x: Exchange) => void, onFault: ReportFault): void {
    this.chain = chain
    this.onFinish = onFinish
    this.onFault = onFault
  }

  // --- the request body ---

  /** Gives the exchange its far side, which is told when the client leaves; the request body is kept until {@link attach}. */
  watch(peer: Peer): void {
    this.peer = peer
    this.reading = false
  }

  /** Gives the exchange its far side: from now on the request body flows there. */
  attach(peer: Peer): void {
    this.peer = peer
    if (this.isBodyCut) return this.dropPeer()
    // A limit set after the first bytes came holds for them too.
    if (this.bytesIn > this.bodyLimit) return this.giveUp(tooLarge(this.bodyLimit))
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
   * Collects the whole request body. It stays available, also when it is longer: whoever is attached later receives it too.
   *
   * @throws {GatewayError} 413 when it is longer than `limit` bytes; 503 when the process keeps too many; 400 when the client
   *   leaves before its end.
   */
  readBody(limit: number = 1024 * 1024): Promise<Buffer> {
    if (this.bodyLength > limit) return Promise.reject(tooLarge(limit))
    if (this.bodyLength === 0) return Promise.resolve(Buffer.alloc(0))
    return new Promise((resolve, reject) => {
      const received = new ByteBuffer()
      this.attach({
        onRequestBody: (chunk, last) => {
          received.append(chunk)
          const isTooLong = received.length > limit
          if (isTooLong || !this.hold(chunk.length)) {
            this.keep([received.bytes], received.length)
            reject(isTooLong ? tooLarge(limit) : rejectBody(GATEWAY_ID))
          } else if (last) {
            this.keep([received.bytes], 0)
            resolve(received.bytes)
          }
        },
        onDrain: () => {},
        onAbort: () =>
          reject(new GatewayError('', 400, 'the client left before the end of the request body')),
      })
    })
  }

  /**
   * Counts bytes of the request body that are kept until the exchange is over. False: the process keeps too many, of all
   * its exchanges together; the answer is `refuseBody`.
   */
  hold(bytes: number): boolean {
    if (!mayBuffer(this, bytes)) return false
    countBuffered(this, this.bufferedBytes + bytes)
    return true
  }

  /** Counts the bytes of the request body that wait in the connection to a backend. The exchange may be given up by it. */
  countSending(bytes: number): void {
    const more = bytes - this.sendingBytes
    if (more === 0 || this.finished) return
    this.sendingBytes = bytes
    countBuffered(this, this.bufferedBytes + more)
  }

  /** A body that was collected and is complete is part of a call in flight, which is not ended for its bytes. */
  get isCuttable(): boolean {
    return !this.bodyDone || this.sendingBytes > 0
  }

  cutBuffered(isLarge: boolean): void {
    this.sendingBytes = 0
    this.isBodyCut = true
    this.dropQueue()
    this.giveUp(isLarge ? tooMuchBuffered(this.bytesIn) : rejectBody(GATEWAY_ID))
  }

  /** Stops reading the request body until {@link resumeBody}; what is in flight still arrives. */
  pauseBody(): void {
    if (this.bodyPaused || this.bodyDone || this.finished) return
    this.bodyPaused = true
    this.pauseRead()
  }

  /** Reads the request body on after {@link pauseBody}. */
  resumeBody(): void {
    if (!this.bodyPaused) return
    this.bodyPaused = false
    if (!this.bodyDone && !this.finished) this.resumeRead()
  }

  /** For listeners: the next piece of the request body; valid during the call only. */
  protected receive(chunk: Uint8Array, last: boolean): void {
    if (this.bodyDone || this.aborted) return
    this.bytesIn += chunk.length
    if (last) this.bodyDone = true
    // Answered without it: nobody reads the rest, and the connection ends with the reply.
    if (this.finished || (this.answered && this.peer === undefined)) return
    if (this.bytesIn > this.bodyLimit) return this.giveUp(tooLarge(this.bodyLimit))
    if (this.reading && this.peer !== undefined) return this.peer.onRequestBody(chunk, last)
    this.queue ??= []
    this.queue.push(copyToBuffer(chunk))
    const bytes = chunk.length + PIECE_BYTES
    this.queuedBytes += bytes
    if (this.queuedBytes > QUEUE_MAX_BYTES) this.pauseBody()
    countBuffered(this, this.bufferedBytes + bytes)
  }

  // --- the reply ---

  /**
   * Sends a whole response. Calls after the first reply are ignored.
   *
   * @throws {TypeError} when a header name or value is malformed.
   */
  reply(status: number, body: string | Uint8Array = EMPTY, headers: readonly string[] = []): void {
    const list = new HeaderList(headers)
    if (typeof body === 'string' && body !== '' && !list.has('content-type')) {
      list.append('content-type', 'text/plain; charset=utf-8')
    }
    this.send(status, list, body)
  }

  /** Sends an error with its `{Id, Code, Detail, Status}` body. Ignored after the first reply. */
  fail(error: GatewayError): void {
    const told = toWireError(error, this.headers, this.httpVersion === '2')
    if (told !== undefined) {
      if (!this.answered) this.rpcStatus = told.rpcStatus
      return this.send(told.status, told.headers, told.body)
    }
    const { type, body } = formatError(error, this.headers.get('accept') ?? '')
    const headers = new HeaderList(error.headers)
    headers.append('content-type', type)
    // RFC 9111 §4.2.2 lets caches keep some errors, which hold for one caller at one moment.
    if (!headers.has('cache-control')) headers.append('cache-control', 'no-store')
    // RFC 9110 §15.5.22 wants it; what else there is to change to, this gateway does not have.
    if (error.code === 426) appendParsed(headers, 'upgrade', 'websocket')
    this.send(error.code, headers, body)
  }

  /** {@link fail}, and closes the connection: for a request that may hide another one. A connection of HTTP/2 stays open. */
  failAndClose(error: GatewayError): void {
    this.closing = true
    this.fail(error)
  }

  /** {@link reply} for a header list that becomes the exchange's own. A long body that finds no room to wait for a slow client is 503. */
  send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    if (this.answered) return
    if (!mayWait(body)) return this.fail(rejectResponse(this.route?.service ?? GATEWAY_ID))
    if (this.beginReply(status, headers)) this.transmit(body)
  }

  /**
   * Begins a streamed response; {@link write} and {@link end} follow.
   *
   * @param status 200 to 599; with any other the client gets 500, as it does when a reply hook sets one.
   * @param length exact number of body bytes, also for HEAD and 304 where none follow; -1: unknown.
   */
  start(status: number, headers: HeaderList, length: number): void {
    this.startReply(status, headers, length, false)
  }

  /** For listeners: begins the 101 that completes the client's WebSocket handshake (RFC 9110 §15.2.2). There is no other way to a 101. */
  protected startWebSocket(headers: HeaderList): void {
    this.startReply(101, headers, -1, true)
  }

  /** Sends a piece of a started response; `chunk` may be reused after the call. False: keep the rest until the peer's `onDrain`. */
  write(chunk: Uint8Array): boolean {
    if (!this.streaming || this.finished) return true
    this.bytesOut += chunk.length
    return this.transmitChunk(chunk)
  }

  /**
   * Ends a started response.
   *
   * @param trailers sent behind the body where the client's protocol has room for them, which is HTTP/2; else left out (RFC 9110 §6.5.1).
   */
  end(trailers?: HeaderList): void {
    if (!this.streaming || this.finished) return
    this.transmitEnd(trailers)
  }

  /** Ends the exchange after a failure: an error reply while none has begun, else a cut connection, so that the client sees the reply is incomplete. */
  giveUp(error: GatewayError): void {
    if (this.finished) return
    if (this.answered) {
      if (this.isHeadPending) {
        this.closing ||= !this.bodyDone
        this.replaceReply(error)
      } else this.cut()
    } else {
      this.closing ||= !this.bodyDone
      this.fail(error)
    }
    this.dropPeer()
  }

  /**
   * Ends the exchange since its client may no longer have what it asked for: as {@link giveUp}, a stream of a service
   * with the error as its last words, a WebSocket with 4401.
   */
  revoke(error: GatewayError): void {
    if (this.finished) return
    const peer = this.peer
    if (this.status === 101) this.cut(REVOKED, 'Unauthorized')
    else if (this.streaming && peer?.onRevoke !== undefined) peer.onRevoke(error)
    else this.giveUp(error)
  }

  /** Carries the client's WebSocket on to a backend. Rejects, with nothing sent to the client, while another node may be tried. */
  abstract tunnel(target: TunnelTarget): Promise<void>

  /**
   * Answers the client's handshake: its WebSocket ends in this process, and its messages are `receiver`'s.
   * The exchange is over when the WebSocket is; both count bytes of messages.
   *
   * Undefined, with nothing called, when the exchange was answered before, or a reply hook failed and its error went out.
   *
   * @throws {GatewayError} 426 when the client asks for no WebSocket, 503 when the gateway shuts down; nothing was sent then.
   * @throws {TypeError} when the subprotocol is no token.
   */
  abstract accept(receiver: SocketReceiver, options?: AcceptOptions): ServerSocket | undefined

  /** For listeners: bytes of the reply wait for the client until the exchange is over. */
  protected awaitClient(bytes: number): void {
    replyMemory.usedBytes += bytes
    this.waitingBytes += bytes
  }

  /** For listeners: the reply is complete, or can never be. */
  protected finish(): void {
    if (this.finished) return
    this.finished = true
    this.dropQueue()
    if (this.bufferedBytes > 0) countBuffered(this, 0)
    if (this.waitingBytes > 0) {
      replyMemory.usedBytes -= this.waitingBytes
      this.waitingBytes = 0
    }
    const hooks = this.chain.onDone
    for (let i = 0; i < hooks.length; i++) {
      try {
        hooks[i]!(this)
      } catch (error) {
        this.onFault?.(error, this, this.chain.stages.onDone[i])
      }
    }
    this.onFinish?.(this)
  }

  /** For listeners: the client left. */
  protected abort(): void {
    if (this.finished) return
    this.aborted = true
    this.answered = true
    this.dropPeer()
    this.finish()
  }

  /** For listeners: the client takes more. */
  protected drained(): void {
    this.peer?.onDrain()
  }

  /** Sends head and body in one go; sets no fields but the framing. `body` is valid during the call only: copy what is kept. */
  protected abstract transmit(body: string | Uint8Array): void
  protected abstract transmitHead(length: number): void
  /** `chunk` is valid during the call only: copy what is kept. */
  protected abstract transmitChunk(chunk: Uint8Array): boolean
  protected abstract transmitEnd(trailers?: HeaderList): void
  /**
   * Closes the client's connection at once; calls {@link abort}.
   *
   * @param code what a WebSocket is closed with. @default 1011
   */
  protected abstract cut(code?: number, reason?: string): void
  protected abstract pauseRead(): void
  protected abstract resumeRead(): void

  /** Whether a response has begun of which nothing was sent yet: {@link giveUp} then sends its error. */
  protected get isHeadPending(): boolean {
    return false
  }

  private startReply(
    status: number,
    headers: HeaderList,
    length: number,
    isHandshake: boolean,
  ): void {
    if (this.answered) return
    this.streaming = true
    if (this.beginReply(status, headers, isHandshake)) this.transmitHead(length)
    else this.streaming = false
  }

  /**
   * Runs `onReply` and checks the status: every response of the gateway comes through here. False when a hook threw or the status is
   * invalid, and a 500 went out in place of the reply.
   */
  private beginReply(status: number, headers: HeaderList, isHandshake = false): boolean {
    this.answered = true
    this.status = status
    this.replyHeaders = headers
    if (!this.bodyDone) this.closing = true
    const hooks = this.chain.onReply
    let i = 0
    try {
      for (; i < hooks.length; i++) hooks[i]!(this)
      if (isFinalStatus(this.status) || (isHandshake && this.status === 101)) return true
      throw new TypeError(`status must be an integer from 200 to 599, got ${inspect(this.status)}`)
    } catch (error) {
      const thrown = GatewayError.from(error)
      const failure = isFinalStatus(thrown.code) ? thrown : GatewayError.from(undefined)
      if (failure !== error) this.onFault?.(error, this, this.chain.stages.onReply[i])
      this.replaceReply(failure, i)
      this.dropPeer()
      return false
    }
  }

  /**
   * Sends an error in place of a reply of which nothing was sent. The `onReply` hooks see it, too: request id, CORS and security headers
   * belong to errors as well.
   *
   * @param failedHook place of the hook that is left out; -1: none.
   */
  private replaceReply(failure: GatewayError, failedHook: number = -1): void {
    const told = toWireError(failure, this.headers, this.httpVersion === '2')
    const { type, body } = formatError(failure, this.headers.get('accept') ?? '')
    const status = told?.status ?? failure.code
    if (told !== undefined) this.rpcStatus = told.rpcStatus
    this.streaming = false
    this.status = status
    this.replyHeaders =
      told?.headers ?? new HeaderList(['content-type', type, 'cache-control', 'no-store'])
    for (const [i, hook] of this.chain.onReply.entries()) {
      if (i === failedHook) continue
      try {
        hook(this)
      } catch (error) {
        if (!(error instanceof GatewayError))
          this.onFault?.(error, this, this.chain.stages.onReply[i])
      }
    }
    this.status = status
    this.transmit(told?.body ?? body)
  }

  /** The body so far waits for whoever is attached next. */
  private keep(chunks: Uint8Array[], bytes: number): void {
    this.peer = undefined
    this.reading = false
    this.queue = chunks
    this.queuedBytes = Math.min(bytes, this.bufferedBytes)
    if (bytes > QUEUE_MAX_BYTES) this.pauseBody()
  }

  private dropQueue(): void {
    const queue = this.queue
    if (queue === undefined) return
    this.queue = undefined
    this.queuedBytes = 0
    for (const chunk of queue) releaseBuffer(chunk)
  }

  private dropPeer(): void {
    const peer = this.peer
    this.peer = undefined
    peer?.onAbort()
  }
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError(GATEWAY_ID, 413, `request body exceeds the limit of ${limit} bytes`)
}

function tooMuchBuffered(bytesIn: number): GatewayError {
  const detail = `Request body too large to buffer: the client sent ${bytesIn} bytes, faster than the backend reads them. Raise max_buffered or send more slowly.`
  return new GatewayError(GATEWAY_ID, 413, detail)
}

// A single long file: one call, from its first byte to its trailers.

import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { tickNow } from '../../../lib/time/tick-clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { beginWait, endWait, type WaitingReply } from '../../limits/waiting-replies.ts'
import type { Peer } from '../../request/incoming-request.ts'
import {
  type AttemptFailure,
  type Attempts,
  beginAttempt,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordStatus,
  recordSuccess,
  toRouteName,
} from '../../upstream/attempts.ts'
import { noNodeError } from '../../upstream/balance/no-node.ts'
import type { FailureKind, UpstreamFailure } from '../../upstream/call.ts'
import { describeConnectFault } from '../../upstream/connect-error.ts'
import { hasRoom, StreamBacklog } from '../../upstream/http2/backlog.ts'
import {
  type Http2Call,
  type Http2UpstreamConnection,
  STREAM_WINDOW_BYTES,
} from '../../upstream/http2/connection.ts'
import { setsHost } from '../../upstream/node/node-host.ts'
import type { UpstreamNode } from '../../upstream/node/upstream-node.ts'
import { RequestCopy } from '../../upstream/retry/request-copy.ts'
import type { RetryOptions } from '../../upstream/retry/retry-options.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { deadlines, type Timed } from '../deadlines.ts'
import { formatGrpcTimeout, readWireTimeout } from '../timeout.ts'
import { Base64Reader } from './base64-reader.ts'
import { type Block, readTrailers, rejectHead, toFields, toReplyHead } from './reply.ts'
import { toGrpcFields } from './request.ts'
import { toErrorTrailers, UNAVAILABLE } from './status-codes.ts'
import { describeLoss } from './stream-loss.ts'
import { endReply, findWire, toWireBytes, type Wire } from './wire-format.ts'

/** Maximum timeout that a client may request: the limit of a timer. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1
const END_STREAM = 1
const CANCEL = 8
const NOTHING = new Uint8Array(0)
const ignore = (): void => {}

/**
 * Forwards a gRPC, gRPC-Web or streaming Connect call to a gRPC node of its service, and relays the response. Messages
 * are not inspected.
 *
 * @throws {GatewayError} 415 for a request in another format, 400 for a malformed timeout.
 */
export function forwardGrpc(x: Exchange): void {
  const wire = findWire(x.headers.get('content-type'), x.httpVersion === '2')
  if (wire === undefined || x.method !== 'POST') throw unsupportedFormat(x)
  new GrpcForwarding(x, wire).start()
}

function unsupportedFormat({ route, httpVersion }: Exchange): GatewayError {
  const accept =
    httpVersion === '2' ? 'application/grpc, application/grpc-web' : 'application/grpc-web'
  const hint = httpVersion === '2' ? '' : '; application/grpc requires HTTP/2'
  const detail = `${route!.service} speaks gRPC: POST ${accept.replace(',', ' or')}${hint}`
  return new GatewayError(route!.service, 415, detail, { headers: ['accept', accept] })
}

/** A call to a backend: the peer of the exchange, and the call on the connection. */
class GrpcForwarding implements Peer, Http2Call, Timed, WaitingReply, Attempts {
  readonly bodyless: boolean
  resent = false
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  readonly upstream: Upstream | undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  readonly #x: Exchange
  readonly #wire: Wire
  readonly #base64: Base64Reader | undefined
  /** Timeout requested by the client in milliseconds; 0 for no limit. */
  readonly #timeoutMs: number
  /** Whether `:authority` is the host of the node. */
  readonly #hasNodeHost: boolean
  #fields: OutgoingHttpHeaders | undefined = undefined
  #stream: ClientHttp2Stream | undefined = undefined
  readonly #copy = new RequestCopy()
  /** Body bytes waiting for the stream; undefined if none so far. */
  #backlog: StreamBacklog | undefined = undefined
  /** Whether the request body is complete, sent or not. */
  #sent: boolean
  #trailers: HeaderList | undefined = undefined
  /** Whether the response ended without trailers. */
  #ended = false

  constructor(x: Exchange, wire: Wire) {
    this.#x = x
    this.#wire = wire
    this.#timeoutMs = readWireTimeout(x.headers, TIMEOUT_MAX_MS, x.route!.service)
    this.#base64 = wire.protocol === 'grpc-web-text' ? new Base64Reader() : undefined
    this.bodyless = x.bodyLength === 0
    this.#sent = this.bodyless
    // The request may be a stream, which is unknown at this point.
    x.allowsIdleBody = true
    x.beforeProxy?.(x)
    this.upstream = x.upstream
    this.#hasNodeHost = setsHost(x)
  }

  get routeName(): string {
    return toRouteName(this.#x)
  }

  get retry(): RetryOptions | undefined {
    return this.#x.route?.rule?.retry
  }

  start(): void {
    this.#x.upstreamStartMs = tickNow()
    if (this.#timeoutMs > 0) deadlines.add(this, this.#timeoutMs)
    this.#attempt()
  }

  get fields(): OutgoingHttpHeaders {
    this.#fields ??= toGrpcFields(this.#x, this.#wire)
    // Set per attempt, because the nodes of a service may differ.
    this.#fields[':scheme'] = this.node!.secure ? 'https' : 'http'
    if (this.#hasNodeHost) this.#fields[':authority'] = this.node!.hostHeader
    if (this.#timeoutMs > 0) this.#fields['grpc-timeout'] = formatGrpcTimeout(deadlines.left(this))
    return this.#fields
  }

  #attempt(): void {
    const x = this.#x
    const node = pickNode(this, x)
    const pool = node?.http2
    if (node === undefined || pool === undefined) {
      const { service } = x.route!
      const error = noNodeError(service, this.upstream)
      if (x.failure === '') x.failure = error.message
      x.failureKind = 'no-node'
      return this.#endWithError(error)
    }
    // The body is not read yet, so that another node may be tried until there is a stream.
    x.setPeer(this)
    this.resent = false
    x.node = node.id
    this.#trace(node)
    beginAttempt(this, node)
    x.attempts = this.attempts
    pool.dispatch(this)
  }

  /** Starts the trace span of the attempt. */
  #trace(node: UpstreamNode): void {
    const { trace, headers } = this.#x
    if (trace === undefined) return
    trace.sendFields(this.#x, node, headers)
    this.#fields = undefined
  }

  // Events from the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (!this.inFlight) return
    const bytes =
      this.#base64 === undefined ? Uint8Array.prototype.slice.call(chunk) : this.#base64.read(chunk)
    if (bytes === undefined || (last && this.#base64?.isComplete === false)) {
      this.#cancel()
      const detail = 'the body of application/grpc-web-text must be base64'
      return this.#endWithError(new GatewayError(this.#x.route!.service, 400, detail))
    }
    // The chunk contains only padding, so there are no bytes to count.
    if (bytes.length === 0 && !last) return
    this.#copy.add(bytes, last)
    this.#write(bytes, last)
  }

  onDrain(): void {
    endWait(this)
    if (this.inFlight) this.#stream?.resume()
  }

  onAbort(): void {
    if (this.inFlight) this.#cancel()
  }

  onRevoke(error: GatewayError): void {
    if (!this.inFlight) return
    this.#cancel()
    this.#endWithError(error)
  }

  abortWaiting(): void {
    this.#cancel()
    const detail =
      'the client did not read the response, and the limit for unread responses was exceeded (max_unread)'
    this.#endWithError(new GatewayError(this.#x.route!.service, 503, detail), true)
  }

  // Events from the clock

  onDeadline(): void {
    const hasOwnTimeout = this.#timeoutMs === 0
    const x = this.#x
    if (hasOwnTimeout) {
      this.#failed('timeout', 'the backend did not respond in time')
      recordFailure(this, 'gateway')
    }
    this.#cancel()
    const detail = hasOwnTimeout
      ? 'the backend did not respond in time'
      : 'the deadline of the call has expired'
    this.#endWithError(new GatewayError(x.route!.service, 504, detail))
  }

  // Events from the connection

  onStream(stream: ClientHttp2Stream, connection: Http2UpstreamConnection): void {
    this.#stream = stream
    stream.on('response', (headers, flags) => {
      if (this.#isCurrent(stream)) this.#begin(headers, (flags & END_STREAM) > 0)
    })
    stream.on('trailers', (headers) => {
      this.#trailers = toFields(headers)
    })
    stream.on('end', () => {
      if (!this.#isCurrent(stream) || !this.#x.answered) return
      if (this.#trailers?.has('grpc-status')) return this.#finish(this.#trailers)
      // The stream was reset; the `close` event contains the reason.
      this.#ended = true
      stream.close(CANCEL)
    })
    stream.on('drain', () => {
      if (this.#isCurrent(stream)) this.#drained(stream)
    })
    stream.on('finish', () => {
      if (this.#isCurrent(stream)) this.#awaitHead()
    })
    // `close` follows and is handled.
    stream.on('error', ignore)
    stream.on('close', () => {
      if (this.#isCurrent(stream)) this.#onConnectionLost(stream, connection)
    })
    this.#copy.replay((bytes, isLast) => {
      if (isLast) stream.end(bytes)
      else stream.write(bytes)
    })
    if (!this.#sent) this.#x.pipeTo(this)
    else if (this.bodyless) this.#awaitHead()
    else this.#awaitSending()
  }

  onFailure({ kind, detail, collateral }: UpstreamFailure): void {
    if (!this.inFlight) return
    const x = this.#x
    this.#failed(kind, detail)
    const failure = kind === 'full' ? 'unsent' : 'connect'
    if (kind !== 'malformed') recordFailure(this, failure, !collateral)
    this.#endAttempt()
    const { service } = x.route!
    if (kind === 'malformed') {
      const message = `the request headers cannot be sent over HTTP/2: ${detail}`
      return this.#endWithError(new GatewayError(service, 400, message))
    }
    if (this.#retry(failure)) return
    if (kind === 'full')
      return this.#endWithError(
        new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] }),
      )
    const reason = describeConnectFault(detail, 'the backend')
    this.#endWithError(new GatewayError(service, 502, `bad gateway: ${reason}`, { cause: detail }))
  }

  /** True if the stream belongs to the current attempt. */
  #isCurrent(stream: ClientHttp2Stream): boolean {
    return this.inFlight && this.#stream === stream
  }

  #write(bytes: Uint8Array, last: boolean): void {
    const x = this.#x
    const stream = this.#stream!
    this.#sent = last
    if (this.#backlog === undefined && hasRoom(stream, bytes.length)) {
      if (last) stream.end(bytes)
      else if (bytes.length > 0 && !stream.write(bytes)) x.pauseBody()
    } else {
      this.#backlog ??= new StreamBacklog()
      this.#backlog.add(bytes, last)
      // Otherwise `drain` follows.
      if (!stream.writableNeedDrain) this.#backlog.send(stream)
      if (stream.writableNeedDrain) x.pauseBody()
    }
    if (last || (stream.writableNeedDrain && this.timedNext === undefined)) this.#awaitSending()
    this.#count()
  }

  /** Called when the stream accepts more bytes. */
  #drained(stream: ClientHttp2Stream): void {
    this.#backlog?.send(stream)
    if (this.#sent || stream.writableNeedDrain) this.#awaitSending()
    else {
      if (this.#timeoutMs === 0) deadlines.remove(this)
      this.#x.resumeBody()
    }
    if (this.#isCurrent(stream)) this.#count()
  }

  /**
   * Accounts for the memory of the request: bytes waiting for the backend, and bytes buffered for a retry. May abort
   * the exchange.
   */
  #count(): void {
    const unsentBytes = (this.#stream?.writableLength ?? 0) + (this.#backlog?.bytes ?? 0)
    this.#x.countSending(unsentBytes + this.#copy.bytes)
  }

  /** Starts the idle timeout, because the backend must keep reading the request. */
  #awaitSending(): void {
    const { rule } = this.#x.route!
    this.#limit(rule?.timeouts?.idleMs ?? this.node!.http2!.idleTimeoutMs)
  }

  /** Starts the response timeout. */
  #awaitHead(): void {
    const { rule } = this.#x.route!
    this.#limit(rule?.timeouts?.replyMs ?? this.node!.http2!.replyTimeoutMs)
  }

  /** Sets the deadline of the current phase, unless the client has set one for the whole call. */
  #limit(ms: number): void {
    if (this.#timeoutMs > 0 || this.#x.answered) return
    deadlines.remove(this)
    deadlines.add(this, ms)
  }

  /** Handles the head of the response. */
  #begin(headers: Block, isWhole: boolean): void {
    const x = this.#x
    const { service } = x.route!
    x.upstreamReplyMs = tickNow()
    x.trace?.answered(Number(headers[':status']))
    this.#copy.drop()
    this.#count()
    if (this.#timeoutMs === 0) deadlines.remove(this)
    const error = rejectHead(headers, service)
    if (error !== undefined) {
      this.#failed('malformed', String(error.cause))
      if (error.code !== 401 && error.code !== 403) recordFailure(this, 'gateway')
      this.#cancel()
      return this.#endWithError(error)
    }
    const head = toReplyHead(headers, this.#wire)
    const cookie = this.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) head.append('set-cookie', cookie)
    if (isWhole) return this.#finishTrailersOnly(head)
    recordSuccess(this)
    const stream = this.#stream!
    x.start(200, head, -1)
    stream.on('data', (chunk: Buffer) => {
      if (!this.#isCurrent(stream) || x.write(toWireBytes(this.#wire, chunk))) return
      stream.pause()
      beginWait(this, STREAM_WINDOW_BYTES)
    })
  }

  /** Handles a response without messages (Trailers-Only). */
  #finishTrailersOnly(head: HeaderList): void {
    const trailers = readTrailers(head)
    if (!trailers.has('grpc-status')) {
      this.#end()
      const detail = 'the backend response has no grpc-status'
      return this.#endWithError(new GatewayError(this.#x.route!.service, 500, detail))
    }
    if (this.#wire.protocol !== 'grpc') {
      this.#x.start(200, head, -1)
      // A response hook may have failed.
      if (this.inFlight) this.#finish(trailers)
      return
    }
    this.#recordGrpcStatus(trailers)
    this.#end()
    for (let i = 0; i < trailers.flat.length; i += 2)
      head.append(trailers.flat[i]!, trailers.flat[i + 1]!)
    this.#x.rpcStatus = Number(trailers.get('grpc-status'))
    this.#x.send(200, head, NOTHING)
  }

  #finish(trailers: HeaderList): void {
    this.#recordGrpcStatus(trailers)
    const stream = this.#stream!
    this.#end()
    if (!this.#sent) stream.close(CANCEL)
    endReply(this.#x, this.#wire, trailers)
  }

  /** Records the health of the node from the status of the call. */
  #recordGrpcStatus(trailers: HeaderList): void {
    const { trace } = this.#x
    const status = trailers.get('grpc-status')!
    if (status !== '0') trace?.failed(status)
    recordStatus(this, status === `${UNAVAILABLE}` ? 503 : 200)
  }

  /** Handles a stream that ended before its response. */
  #onConnectionLost(stream: ClientHttp2Stream, connection: Http2UpstreamConnection): void {
    const x = this.#x
    const isUnserved = connection.isUnserved(stream) && !x.answered
    const isLost = connection.isClosed
    const { code, detail } = describeLoss(stream, isLost, isUnserved, this.#ended)
    this.#failed('closed', detail)
    if (!isUnserved && (isLost || this.#ended)) recordFailure(this, 'gateway')
    this.#endAttempt()
    const { service } = x.route!
    if (isUnserved) {
      const node = this.node!
      if (this.#copy.chunks !== undefined && !this.resent) {
        this.#trace(node)
        beginAttempt(this, node)
        x.setPeer(this)
        return node.http2!.resend(this)
      }
      recordFailure(this, 'unsent')
      if (this.#retry('unsent')) return
    }
    this.#endWithError(new GatewayError(service, code, detail))
  }

  /** Starts another attempt, if allowed. */
  #retry(failure: AttemptFailure): boolean {
    if (this.#copy.chunks === undefined || this.#x.answered || !mayRetry(this, failure, false))
      return false
    this.#attempt()
    return true
  }

  /**
   * Ends the response with an error at any stage.
   *
   * @param isUnread whether the client would not read trailers either.
   */
  #endWithError(error: GatewayError, isUnread = false): void {
    deadlines.remove(this)
    const x = this.#x
    if (x.answered && x.streaming && !isUnread) endReply(x, this.#wire, toErrorTrailers(error))
    else x.abortWith(error)
  }

  #failed(kind: FailureKind, detail: string): void {
    const x = this.#x
    x.failure = detail
    x.failureKind = kind
    x.trace?.failed(kind, detail)
  }

  /** Cancels the call because the client has disconnected. */
  #cancel(): void {
    const stream = this.#stream
    this.#end()
    if (stream === undefined) this.node!.http2!.cancel(this)
    else stream.close(CANCEL)
  }

  #end(): void {
    this.#endAttempt()
    deadlines.remove(this)
  }

  #endAttempt(): void {
    endWait(this)
    if (this.#timeoutMs === 0) deadlines.remove(this)
    this.#stream = undefined
    this.#backlog = undefined
    this.#x.trace?.endAttempt()
    endAttempt(this)
  }
}

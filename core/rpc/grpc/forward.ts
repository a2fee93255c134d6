// One file, though long: one call, from its first byte to its trailers.

import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { tickNow } from '../../../lib/time/tick-clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { bodyMemory } from '../../limits/memory-budget.ts'
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
} from '../../upstream/attempts.ts'
import { toNoNode } from '../../upstream/balance/no-node.ts'
import type { FailureKind, UpstreamFailure } from '../../upstream/call.ts'
import { describeConnectFault } from '../../upstream/connect-error.ts'
import { hasRoom, StreamBacklog } from '../../upstream/http2/backlog.ts'
import {
  type Http2Call,
  type Http2Connection,
  STREAM_WINDOW_BYTES,
} from '../../upstream/http2/connection.ts'
import type { UpstreamNode } from '../../upstream/node-health.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { deadlines, type Timed } from '../deadlines.ts'
import { formatGrpcTimeout, readWireTimeout } from '../timeout.ts'
import { Base64Reader } from './base64-reader.ts'
import { type Block, readTrailers, rejectHead, toFields, toReplyHead } from './reply.ts'
import { toGrpcFields } from './request.ts'
import { toErrorTrailers, UNAVAILABLE } from './status-codes.ts'
import { endReply, findWire, toWireBytes, type Wire } from './wire-format.ts'

/** Longest time a client may ask for: that of a timer. */
const ASKED_MAX_MS = 2 ** 31 - 1
/** Bytes of memory for a request kept to send them again to a backend that has not served them. */
const KEPT_MAX_BYTES = 64 * 1024
/** What a piece of it takes besides: a request may come byte by byte. */
const PIECE_COST_BYTES = 128
/** Share of `bodyMemory` beyond which no more copies of requests are made: the rest is for requests on their way. */
const KEPT_SHARE = 1 / 2
const END_STREAM = 1
const CANCEL = 8
/** HTTP statuses for the reasons a backend resets a stream (RFC 9113 §7), as gRPC reads them (HTTP/2 Transport Mapping); others are 500. */
const RESETS: ReadonlyMap<number, number> = new Map([
  [CANCEL, 499],
  [11, 429],
  [12, 403],
])
const NOTHING = new Uint8Array(0)
const ignore = (): void => {}

/**
 * Forwards a call of gRPC, gRPC-Web or a stream of Connect to a node of its service that speaks gRPC, and relays the reply.
 * Messages are not looked into.
 *
 * @throws {GatewayError} 415 for a request in another form, 400 for a malformed time.
 */
export function forwardGrpc(x: Exchange): void {
  const wire = findWire(x.headers.get('content-type'), x.httpVersion === '2')
  if (wire === undefined || x.method !== 'POST') throw refuseForm(x)
  new GrpcForwarding(x, wire).start()
}

function refuseForm({ route, httpVersion }: Exchange): GatewayError {
  const accept =
    httpVersion === '2' ? 'application/grpc, application/grpc-web' : 'application/grpc-web'
  const hint = httpVersion === '2' ? '' : '; application/grpc needs HTTP/2'
  const detail = `${route!.service} speaks gRPC: POST ${accept.replace(',', ' or')}${hint}`
  return new GatewayError(route!.service, 415, detail, { headers: ['accept', accept] })
}

/** One call on its way to a backend and back: the peer of the exchange, and the call on the connection. */
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
  readonly #x: Exchange
  readonly #wire: Wire
  readonly #base64: Base64Reader | undefined
  /** Milliseconds the client gives it; 0: as long as it likes. */
  readonly #timeoutMs: number
  #fields: OutgoingHttpHeaders | undefined = undefined
  #stream: ClientHttp2Stream | undefined = undefined
  /** What was sent of the body; undefined: too much to send it again. */
  #kept: Uint8Array[] | undefined = []
  #cachedBytes = 0
  /** What of the body waits for the stream; undefined: nothing ever had to. */
  #backlog: StreamBacklog | undefined = undefined
  /** The request is complete, sent or not. */
  #sent: boolean
  #trailers: HeaderList | undefined = undefined
  /** The reply ended without trailers. */
  #ended = false

  constructor(x: Exchange, wire: Wire) {
    this.#x = x
    this.#wire = wire
    this.#timeoutMs = readWireTimeout(x.headers, ASKED_MAX_MS, x.route!.service)
    this.#base64 = wire.protocol === 'grpc-web-text' ? new Base64Reader() : undefined
    this.bodyless = x.bodyLength === 0
    this.#sent = this.bodyless
    // Whether it is a stream of requests is not known here.
    x.patient = true
    x.beforeProxy?.(x)
    this.upstream = x.upstream
  }

  start(): void {
    this.#x.upstreamStartMs = tickNow()
    if (this.#timeoutMs > 0) deadlines.add(this, this.#timeoutMs)
    this.#attempt()
  }

  get fields(): OutgoingHttpHeaders {
    this.#fields ??= toGrpcFields(this.#x, this.#wire)
    // Of this attempt: nodes of a service need not be alike.
    this.#fields[':scheme'] = this.node!.secure ? 'https' : 'http'
    if (this.#timeoutMs > 0) this.#fields['grpc-timeout'] = formatGrpcTimeout(deadlines.left(this))
    return this.#fields
  }

  #attempt(): void {
    const x = this.#x
    const node = pickNode(this, x)
    const pool = node?.http2
    if (node === undefined || pool === undefined) {
      const { service } = x.route!
      const error = toNoNode(service)
      if (x.failure === '') x.failure = error.message
      x.failureKind = 'no-node'
      return this.#refuse(error)
    }
    // No body yet: until there is a stream another node may be tried.
    x.watch(this)
    this.resent = false
    x.node = node.id
    this.#trace(node)
    beginAttempt(this, node)
    pool.dispatch(this)
  }

  /** Begins the part of the trace that is the attempt. */
  #trace(node: UpstreamNode): void {
    const { trace, headers } = this.#x
    if (trace === undefined) return
    trace.sendFields(this.#x, node, headers)
    this.#fields = undefined
  }

  // From the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (!this.inFlight) return
    const bytes =
      this.#base64 === undefined ? Uint8Array.prototype.slice.call(chunk) : this.#base64.read(chunk)
    if (bytes === undefined || (last && this.#base64?.isWhole === false)) {
      this.#cancel()
      const detail = 'the request body must be base64, as application/grpc-web-text is'
      return this.#refuse(new GatewayError(this.#x.route!.service, 400, detail))
    }
    // Base64 may be padding only: nothing that could be counted.
    if (bytes.length === 0 && !last) return
    this.#keep(bytes)
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
    this.#refuse(error)
  }

  cutWaiting(): void {
    this.#cancel()
    const detail = 'the client did not read the response, and too many wait to be read (max_unread)'
    this.#refuse(new GatewayError(this.#x.route!.service, 503, detail), true)
  }

  // From the clock

  onDeadline(): void {
    const isOwn = this.#timeoutMs === 0
    const x = this.#x
    if (isOwn) {
      this.#failed('timeout', 'the backend did not answer in time')
      recordFailure(this, 'gateway')
    }
    this.#cancel()
    const detail = isOwn ? 'the backend did not answer in time' : 'the time for the call is over'
    this.#refuse(new GatewayError(x.route!.service, 504, detail))
  }

  // From the connection

  onStream(stream: ClientHttp2Stream, connection: Http2Connection): void {
    this.#stream = stream
    stream.on('response', (headers, flags) => {
      if (this.#isOf(stream)) this.#begin(headers, (flags & END_STREAM) > 0)
    })
    stream.on('trailers', (headers) => {
      this.#trailers = toFields(headers)
    })
    stream.on('end', () => {
      if (!this.#isOf(stream) || !this.#x.answered) return
      if (this.#trailers?.has('grpc-status')) return this.#finish(this.#trailers)
      // Cut off, by what comes with `close`.
      this.#ended = true
      stream.close(CANCEL)
    })
    stream.on('drain', () => {
      if (this.#isOf(stream)) this.#drained(stream)
    })
    stream.on('finish', () => {
      if (this.#isOf(stream)) this.#awaitHead()
    })
    // Followed by `close`, which is what counts.
    stream.on('error', ignore)
    stream.on('close', () => {
      if (this.#isOf(stream)) this.#lose(stream, connection)
    })
    const kept = this.#kept ?? []
    for (const [i, bytes] of kept.entries()) {
      const last = this.#sent && i === kept.length - 1
      if (last) stream.end(bytes)
      else stream.write(bytes)
    }
    if (!this.#sent) this.#x.attach(this)
    else if (this.bodyless) this.#awaitHead()
    else this.#awaitSending()
  }

  onFailure({ kind, detail, collateral }: UpstreamFailure): void {
    if (!this.inFlight) return
    const x = this.#x
    this.#failed(kind, detail)
    this.#leave()
    const { service } = x.route!
    if (kind === 'malformed') {
      const wrong = `the fields of the request cannot be sent over HTTP/2: ${detail}`
      return this.#refuse(new GatewayError(service, 400, wrong))
    }
    const failure = kind === 'full' ? 'unsent' : 'connect'
    recordFailure(this, failure, !collateral)
    if (this.#retry(failure)) return
    if (kind === 'full')
      return this.#refuse(new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] }))
    const reason = describeConnectFault(detail, 'the backend')
    this.#refuse(new GatewayError(service, 502, `bad gateway: ${reason}`, { cause: detail }))
  }

  /** Whether a stream is still that of the call. */
  #isOf(stream: ClientHttp2Stream): boolean {
    return this.inFlight && this.#stream === stream
  }

  #keep(bytes: Uint8Array): void {
    if (this.#kept === undefined) return
    this.#cachedBytes += bytes.length + PIECE_COST_BYTES
    const isScarce = bodyMemory.usedBytes > bodyMemory.maxBytes * KEPT_SHARE
    if (this.#cachedBytes > KEPT_MAX_BYTES || isScarce) this.#kept = undefined
    else this.#kept.push(bytes)
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
      // Otherwise its `drain` is to come.
      if (!stream.writableNeedDrain) this.#backlog.send(stream)
      if (stream.writableNeedDrain) x.pauseBody()
    }
    if (last || (stream.writableNeedDrain && this.timedNext === undefined)) this.#awaitSending()
    this.#count()
  }

  /** The backend has taken what the stream had. */
  #drained(stream: ClientHttp2Stream): void {
    this.#backlog?.send(stream)
    if (this.#sent || stream.writableNeedDrain) this.#awaitSending()
    else {
      if (this.#timeoutMs === 0) deadlines.remove(this)
      this.#x.resumeBody()
    }
    if (this.#isOf(stream)) this.#count()
  }

  /**
   * Counts what the request takes in memory: bytes that wait for the backend, and those kept to send them again. The
   * exchange may be given up by it.
   */
  #count(): void {
    const cachedBytes = this.#kept === undefined ? 0 : this.#cachedBytes
    const unsentBytes = (this.#stream?.writableLength ?? 0) + (this.#backlog?.bytes ?? 0)
    this.#x.countSending(unsentBytes + cachedBytes)
  }

  /** Some of the request waits to be sent: the backend takes some of it in time, again and again. */
  #awaitSending(): void {
    this.#limit(this.node!.http2!.idleTimeoutMs)
  }

  /** The backend's turn: it answers in time. */
  #awaitHead(): void {
    this.#limit(this.node!.http2!.replyTimeoutMs)
  }

  /** The call has so long for what comes next, unless the client has set a time for all of it. */
  #limit(ms: number): void {
    if (this.#timeoutMs > 0 || this.#x.answered) return
    deadlines.remove(this)
    deadlines.add(this, ms)
  }

  /** The head of a reply. */
  #begin(headers: Block, isWhole: boolean): void {
    const x = this.#x
    const { service } = x.route!
    x.upstreamReplyMs = tickNow()
    x.trace?.answered(Number(headers[':status']))
    this.#kept = undefined
    this.#count()
    if (this.#timeoutMs === 0) deadlines.remove(this)
    const error = rejectHead(headers, service)
    if (error !== undefined) {
      this.#failed('malformed', String(error.cause))
      if (error.code !== 401 && error.code !== 403) recordFailure(this, 'gateway')
      this.#cancel()
      return this.#refuse(error)
    }
    const head = toReplyHead(headers, this.#wire)
    const cookie = this.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) head.append('set-cookie', cookie)
    if (isWhole) return this.#finishWhole(head)
    recordSuccess(this)
    const stream = this.#stream!
    x.start(200, head, -1)
    stream.on('data', (chunk: Buffer) => {
      if (!this.#isOf(stream) || x.write(toWireBytes(this.#wire, chunk))) return
      stream.pause()
      beginWait(this, STREAM_WINDOW_BYTES)
    })
  }

  /** A reply without messages: its head is its end. */
  #finishWhole(head: HeaderList): void {
    const trailers = readTrailers(head)
    if (!trailers.has('grpc-status')) {
      this.#end()
      const detail = 'the reply of the backend has no grpc-status'
      return this.#refuse(new GatewayError(this.#x.route!.service, 500, detail))
    }
    if (this.#wire.protocol !== 'grpc') {
      this.#x.start(200, head, -1)
      // A hook of the reply may have failed.
      if (this.inFlight) this.#finish(trailers)
      return
    }
    this.#judge(trailers)
    this.#end()
    for (let i = 0; i < trailers.flat.length; i += 2)
      head.append(trailers.flat[i]!, trailers.flat[i + 1]!)
    this.#x.rpcStatus = Number(trailers.get('grpc-status'))
    this.#x.send(200, head, NOTHING)
  }

  #finish(trailers: HeaderList): void {
    this.#judge(trailers)
    const stream = this.#stream!
    this.#end()
    if (!this.#sent) stream.close(CANCEL)
    endReply(this.#x, this.#wire, trailers)
  }

  /** What the status of the call says about the node. */
  #judge(trailers: HeaderList): void {
    const { trace } = this.#x
    const status = trailers.get('grpc-status')!
    if (status !== '0') trace?.failed(status)
    recordStatus(this, status === `${UNAVAILABLE}` ? 503 : 200)
  }

  /** The stream ended before the reply did. */
  #lose(stream: ClientHttp2Stream, connection: Http2Connection): void {
    const x = this.#x
    const isUnserved = connection.isUnserved(stream) && !x.answered
    const isLost = connection.lost
    const { code, detail } = describeLoss(stream, isLost, isUnserved, this.#ended)
    this.#failed('closed', detail)
    this.#leave()
    const { service } = x.route!
    if (isUnserved) {
      const node = this.node!
      if (this.#kept !== undefined && !this.resent) {
        this.#trace(node)
        beginAttempt(this, node)
        x.watch(this)
        return node.http2!.resend(this)
      }
      recordFailure(this, 'unsent')
      if (this.#retry('unsent')) return
    } else if (isLost || this.#ended) recordFailure(this, 'gateway')
    this.#refuse(new GatewayError(service, code, detail))
  }

  /** Begins another attempt, if there may be one. */
  #retry(failure: AttemptFailure): boolean {
    if (this.#kept === undefined || this.#x.answered || !mayRetry(this, failure, false))
      return false
    this.#attempt()
    return true
  }

  /**
   * Ends the reply with an error, as far as it has come.
   *
   * @param isUnread the client would not read trailers either.
   */
  #refuse(error: GatewayError, isUnread = false): void {
    deadlines.remove(this)
    const x = this.#x
    if (x.answered && x.streaming && !isUnread) endReply(x, this.#wire, toErrorTrailers(error))
    else x.giveUp(error)
  }

  /** The attempt failed. */
  #failed(kind: FailureKind, detail: string): void {
    const x = this.#x
    x.failure = detail
    x.failureKind = kind
    x.trace?.failed(kind, detail)
  }

  /** Nobody waits for the reply. */
  #cancel(): void {
    const stream = this.#stream
    this.#end()
    if (stream === undefined) this.node!.http2!.cancel(this)
    else stream.close(CANCEL)
  }

  /** Ends the call. */
  #end(): void {
    this.#leave()
    deadlines.remove(this)
  }

  /** Ends the attempt. */
  #leave(): void {
    endWait(this)
    if (this.#timeoutMs === 0) deadlines.remove(this)
    this.#stream = undefined
    this.#backlog = undefined
    this.#x.trace?.leave()
    endAttempt(this)
  }
}

/** What a client is told of a stream that ended before its reply did. */
function describeLoss(
  { rstCode = 0 }: ClientHttp2Stream,
  isLost: boolean,
  isUnserved: boolean,
  isEnded: boolean,
): { readonly code: number; readonly detail: string } {
  if (isLost)
    return {
      code: 502,
      detail: 'bad gateway: the backend closed the connection before the end of its reply',
    }
  if (isUnserved) return { code: 503, detail: 'the backend takes no more calls' }
  if (isEnded) return { code: 500, detail: 'the reply of the backend has no grpc-status' }
  return {
    code: RESETS.get(rstCode) ?? 500,
    detail: `the backend ended the call (RST_STREAM ${rstCode})`,
  }
}

import { tickNow } from '../../lib/time/tick-clock.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Peer } from '../request/incoming-request.ts'
import { forwardGrpc } from '../rpc/grpc/forward.ts'
import {
  type AttemptFailure,
  type Attempts,
  beginAttempt,
  classifyFailure,
  endAttempt,
  mayRace,
  mayRetry,
  mayRetryStatus,
  pickNode,
  recordFailure,
  recordStatus,
  toPauseMs,
  toRouteName,
} from './attempts.ts'
import { noNodeError } from './balance/no-node.ts'
import type { CallTimeouts, FailureKind, UpstreamCall, UpstreamFailure } from './call.ts'
import { describeConnectFault, findConnectFault } from './connect-error.ts'
import type { Http1Connection } from './http1/connection.ts'
import { formatRequestHead } from './http1/request-head.ts'
import { setsHost } from './node/node-host.ts'
import type { UpstreamNode } from './node/upstream-node.ts'
import { restoreHost } from './reply-host.ts'
import type { HedgeOptions } from './retry/hedge-options.ts'
import { Race } from './retry/race.ts'
import { RequestCopy } from './retry/request-copy.ts'
import { readRetryAfterMs } from './retry/retry-after.ts'
import {
  DEFAULT_RETRY,
  isRepeatable,
  limitAttempt,
  type RetryOptions,
} from './retry/retry-options.ts'
import type { Upstream } from './upstream.ts'

/** Forwards a routed exchange to a node of its service, buffered or streamed, and relays the response. */
export function forward(x: Exchange): void {
  if (x.upstream?.grpc) return forwardGrpc(x)
  new Forwarding(x).start()
}

/** An exchange with a backend: the peer of the exchange, and the call on the connection. */
class Forwarding implements Peer, UpstreamCall, Attempts {
  readonly method: string
  head: string
  readonly bodyLength: number
  readonly idempotent: boolean
  readonly isPatient = false
  readonly timeouts: CallTimeouts | undefined
  connection: Http1Connection | undefined = undefined
  deadlineMs = 0
  isRepeat = false
  headAndBody = ''
  readonly upstream: Upstream | undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  readonly #x: Exchange
  /** Undefined if not hedged. */
  #race: Race<Forwarding> | undefined = undefined
  readonly #isHedge: boolean
  /** Set if the request will be hedged once its body is complete. */
  #lateHedge: HedgeOptions | undefined = undefined
  /** Whether `Host` depends on the node, so that each attempt needs a separate head. */
  readonly #hasNodeHost: boolean
  /** `Host` set by the route, if any. */
  readonly #routeHost: string | undefined
  /** Undefined if the request has no body or is not repeatable. */
  readonly #copy: RequestCopy | undefined
  /** Timer for the pause before a retry. */
  #timer: NodeJS.Timeout | undefined = undefined

  /** @param first the attempt that is hedged. */
  constructor(x: Exchange, first?: Forwarding) {
    this.#x = x
    this.#isHedge = first !== undefined
    if (!this.#isHedge) x.beforeProxy?.(x)
    this.upstream = x.upstream
    this.method = x.method
    const retry = this.retry
    this.timeouts = limitAttempt(x.route?.rule?.timeouts, retry)
    // The first head removes the `Host` of a route or plugin from the headers.
    this.#hasNodeHost = first === undefined ? setsHost(x) : first.#hasNodeHost
    const host = x.route?.rule?.rewrite && x.headers.get('host')
    this.#routeHost = first === undefined ? host : first.#routeHost
    this.head = this.#hasNodeHost ? '' : (first?.head ?? formatRequestHead(x))
    this.bodyLength = x.bodyLength
    // Other methods are idempotent by definition (RFC 9110 §9.2.2), but backends may not comply (reference 15.5).
    this.idempotent = x.method === 'GET' || x.method === 'HEAD'
    const isStored = x.bodyLength !== 0 && retry.attempts > 1 && isRepeatable(x, retry)
    this.#copy = first === undefined ? (isStored ? new RequestCopy() : undefined) : first.#copy
  }

  get retry(): RetryOptions {
    return this.#x.route?.rule?.retry ?? this.upstream?.retry ?? DEFAULT_RETRY
  }

  get routeName(): string {
    return toRouteName(this.#x)
  }

  start(): void {
    const x = this.#x
    x.upstreamStartMs = tickNow()
    this.#attempt()
    const hedge = x.route?.rule?.hedge ?? this.upstream?.hedge
    if (hedge === undefined || hedge.max === 0 || !this.#canRepeat()) return
    this.#race = new Race<Forwarding>(this)
    // No node responds before the end of the request body.
    if (this.bodyLength === 0 || this.#copy!.isComplete) this.#awaitHedge(hedge)
    else this.#lateHedge = hedge
  }

  #awaitHedge(hedge: HedgeOptions): void {
    const afterMs = hedge.after === 'p95' ? this.upstream?.p95Ms : hedge.after
    if (afterMs !== undefined) this.#race!.wait(afterMs, () => this.#hedge(hedge))
  }

  /** Hedges the request: also sends it to another node. */
  #hedge(hedge: HedgeOptions): void {
    const x = this.#x
    const race = this.#race!
    if (x.answered || x.finished) return
    const rival = new Forwarding(x, this)
    rival.tried = race.racers.flatMap(({ node }) => node ?? [])
    if (!this.#canRepeat() || !mayRace(rival)) return
    rival.#race = race
    race.add(rival)
    rival.#attempt()
    if (race.added < hedge.max) this.#awaitHedge(hedge)
  }

  #attempt(): void {
    const x = this.#x
    const node = pickNode(this, x)
    if (node === undefined) {
      if (this.#race?.remove(this)) return endAttempt(this)
      const service = x.route?.service ?? ''
      const error = noNodeError(service, this.upstream)
      if (x.failure === '') x.failure = error.message
      x.failureKind = 'no-node'
      return x.abortWith(error)
    }
    // The body is not read yet, so that another node may be tried until the connection is open.
    x.setPeer(this)
    beginAttempt(this, node)
    x.attempts++
    x.node = node.id
    this.headAndBody = ''
    if (this.#hasNodeHost) this.head = formatRequestHead(x, node.hostHeader)
    // A hedge is part of the span of the first attempt.
    if (x.trace !== undefined && !this.#isHedge) this.head = x.trace.sendHead(x, node, this.head)
    node.pool.dispatch(this)
  }

  // Events from the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (!this.inFlight) return
    this.#copy?.add(Uint8Array.prototype.slice.call(chunk), last)
    if (last && this.#lateHedge !== undefined) this.#awaitHedge(this.#lateHedge)
    this.#send(chunk, last)
    this.#countSending()
  }

  #send(chunk: Uint8Array, last: boolean): void {
    if (!this.connection!.sendBody(chunk, last) && !last) this.#x.pauseBody()
  }

  /** Counts the memory used by the request body. May end the exchange. */
  #countSending(): void {
    this.#x.countSending((this.connection?.unsentBytes ?? 0) + (this.#copy?.bytes ?? 0))
  }

  onDrain(): void {
    // The connection may already serve another client.
    if (this.inFlight) this.connection?.resume()
  }

  onAbort(): void {
    if (this.#race === undefined) this.cancelAttempt()
    else this.#race.end()
  }

  cancelAttempt(): void {
    clearTimeout(this.#timer)
    if (!this.inFlight) return endAttempt(this)
    this.#endAttempt()
    this.node!.pool.cancel(this)
  }

  // Events from the backend

  onReady(): void {
    this.#copy?.replay((chunk, last) => this.#send(chunk, last))
    this.#x.pipeTo(this)
  }

  onUnsent(): void {
    this.#x.setPeer(this)
  }

  onBodyDrain(): void {
    this.#countSending()
    this.#x.resumeBody()
  }

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    if (!this.inFlight) return
    this.#record(status)
    if (status >= 400 && this.#repeat(status, headers, false)) return
    this.#winRace()
    this.#endAttempt()
    this.#addFields(headers)
    this.#x.send(status, headers, body)
  }

  onReplyHead(status: number, headers: HeaderList, length: number): void {
    if (!this.inFlight) return
    this.#record(status)
    if (status >= 400 && this.#repeat(status, headers, true)) return
    this.#winRace()
    this.#copy?.drop()
    this.#addFields(headers)
    this.#x.start(status, headers, length)
  }

  onReplyBody(chunk: Uint8Array): boolean {
    return this.#x.write(chunk)
  }

  onReplyEnd(): void {
    if (!this.inFlight) return
    this.#endAttempt()
    this.#x.end()
  }

  onFailure({ kind, detail, collateral }: UpstreamFailure): void {
    if (!this.inFlight) return
    const x = this.#x
    const { connection } = this
    if (!this.#isHedge) x.trace?.failed(kind, detail)
    const replying = connection?.replying ?? false
    const isStale = !replying && connection !== undefined && connection.served > 0
    const failure = classifyFailure(kind, isStale)
    recordFailure(this, failure, !collateral)
    this.#endAttempt()
    this.connection = undefined
    x.failure = detail
    x.failureKind = kind
    if (this.#race?.remove(this)) return
    if (!x.answered && this.#mayRetry(kind, failure)) {
      this.isRepeat = true
      return this.#attemptAgain()
    }
    const { service } = x.route!
    switch (kind) {
      case 'full':
        return x.abortWith(
          new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] }),
        )
      case 'timeout':
      case 'connect-timeout':
        return x.abortWith(new GatewayError(service, 504, detail))
      default:
        return x.abortWith(
          new GatewayError(service, 502, `bad gateway: ${describe(kind, detail)}`, {
            cause: detail,
          }),
        )
    }
  }

  #mayRetry(kind: FailureKind, failure: AttemptFailure): boolean {
    const canRepeat = this.#canRepeat()
    if (failure !== 'gateway') return mayRetry(this, failure, canRepeat)
    return canRepeat && mayRetryStatus(this, kind === 'malformed' ? 502 : 504)
  }

  /** Whether the request may be sent again although a node may have served it. */
  #canRepeat(): boolean {
    if (this.bodyLength !== 0) return this.#copy?.chunks !== undefined
    return isRepeatable(this.#x, this.retry)
  }

  /** Sends the request to another node instead of relaying the response, if allowed. */
  #repeat(status: number, headers: HeaderList, isStreamed: boolean): boolean {
    if (!this.retry.on.has(status) || !this.#canRepeat()) return false
    if (this.#race?.remove(this)) {
      this.#endAttempt()
      if (isStreamed) this.node!.pool.cancel(this)
      return true
    }
    if (!mayRetryStatus(this, status, readRetryAfterMs(headers))) return false
    this.#endAttempt(false)
    if (isStreamed) this.node!.pool.cancel(this)
    this.connection = undefined
    this.#x.upstreamReplyMs = 0
    this.#attemptAgain()
    return true
  }

  #attemptAgain(): void {
    // The body waits for the next connection.
    this.#x.setPeer(this)
    const pauseMs = toPauseMs(this)
    if (pauseMs === 0) this.#attempt()
    else this.#timer = setTimeout(() => this.#attempt(), pauseMs)
  }

  /** Cancels the other attempts, because this attempt has received the response. */
  #winRace(): void {
    const race = this.#race
    if (race === undefined) return
    // Without the canceled attempts, each hedge would lower the percentile.
    for (const { inFlight, attemptStartMs } of race.racers)
      if (inFlight && attemptStartMs !== this.attemptStartMs)
        this.upstream!.observe(tickNow() - attemptStartMs)
    race.end(this)
    this.#x.setPeer(this)
    this.#x.node = this.node!.id
  }

  #record(status: number): void {
    const x = this.#x
    x.upstreamReplyMs = tickNow()
    x.trace?.answered(status)
    recordStatus(this, status)
  }

  #addFields(headers: HeaderList): void {
    const x = this.#x
    const host = this.#hasNodeHost ? this.node!.hostHeader : this.#routeHost
    if (host !== undefined) restoreHost(x, { host, secure: this.node!.secure }, headers)
    const cookie = this.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) headers.append('set-cookie', cookie)
  }

  #endAttempt(isLast = true): void {
    if (!this.#isHedge && (this.#race?.racers.length ?? 1) === 1) this.#x.trace?.endAttempt()
    endAttempt(this, isLast)
  }
}

function describe(kind: 'connect' | 'closed' | 'malformed', detail: string): string {
  switch (kind) {
    case 'connect':
      return describeConnectFault(detail, 'the backend')
    case 'closed':
      // In TLS 1.3, the alert follows the handshake.
      if (findConnectFault(detail) === 'client-certificate')
        return describeConnectFault(detail, 'the backend')
      return 'the backend closed the connection before the end of its response'
    case 'malformed':
      return 'malformed response from the backend'
  }
}

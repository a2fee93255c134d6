import { tickNow } from '../../lib/time/tick-clock.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Peer } from '../request/incoming-request.ts'
import { forwardGrpc } from '../rpc/grpc/forward.ts'
import {
  type Attempts,
  beginAttempt,
  classifyFailure,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordStatus,
  toRouteName,
} from './attempts.ts'
import { toNoNode } from './balance/no-node.ts'
import type { CallTimeouts, UpstreamCall, UpstreamFailure } from './call.ts'
import { describeConnectFault, findConnectFault } from './connect-error.ts'
import type { Http1Connection } from './http1/connection.ts'
import { formatRequestHead } from './http1/request-head.ts'
import type { UpstreamNode } from './node-health.ts'
import { setsHost } from './node-host.ts'
import { restoreHost } from './reply-host.ts'
import type { Upstream } from './upstream.ts'

/** Forwards a routed exchange to a node of its service, buffered or streamed, and relays the response. */
export function forward(x: Exchange): void {
  if (x.upstream?.grpc) return forwardGrpc(x)
  new Forwarding(x).start()
}

/** One exchange to a backend: the peer of the exchange, and the call on the connection. */
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
  whole = ''
  readonly upstream: Upstream | undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  attemptStartMs = 0
  readonly #x: Exchange
  /** `Host` depends on the node, so that each attempt needs its own head. */
  readonly #hasNodeHost: boolean

  constructor(x: Exchange) {
    this.#x = x
    x.beforeProxy?.(x)
    this.upstream = x.upstream
    this.method = x.method
    this.timeouts = x.route?.rule?.timeouts
    this.#hasNodeHost = setsHost(x)
    this.head = this.#hasNodeHost ? '' : formatRequestHead(x)
    this.bodyLength = x.bodyLength
    // Other methods are idempotent by definition (RFC 9110 §9.2.2), but backends may not comply (reference 15.5).
    this.idempotent = x.method === 'GET' || x.method === 'HEAD'
  }

  get routeName(): string {
    return toRouteName(this.#x)
  }

  start(): void {
    const x = this.#x
    x.upstreamStartMs = tickNow()
    this.#attempt()
  }

  #attempt(): void {
    const x = this.#x
    const node = pickNode(this, x)
    if (node === undefined) {
      const service = x.route?.service ?? ''
      const error = toNoNode(service)
      if (x.failure === '') x.failure = error.message
      x.failureKind = 'no-node'
      return x.giveUp(error)
    }
    // No body yet: until its connection is open another node may be tried.
    x.setPeer(this)
    beginAttempt(this, node)
    x.node = node.id
    if (this.#hasNodeHost) this.head = formatRequestHead(x, node.hostHeader)
    if (x.trace !== undefined) this.head = x.trace.sendHead(x, node, this.head)
    node.pool.dispatch(this)
  }

  // From the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (!this.inFlight) return
    const connection = this.connection!
    if (!connection.sendBody(chunk, last) && !last) this.#x.pauseBody()
    this.#x.countSending(connection.unsentBytes)
  }

  onDrain(): void {
    // The connection may already serve another client.
    if (this.inFlight) this.connection?.resume()
  }

  onAbort(): void {
    if (!this.inFlight) return
    this.#endAttempt()
    this.node!.pool.cancel(this)
  }

  // From the backend

  onReady(): void {
    this.#x.pipeTo(this)
  }

  onUnsent(): void {
    this.#x.setPeer(this)
  }

  onBodyDrain(): void {
    this.#x.countSending(0)
    this.#x.resumeBody()
  }

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    if (!this.inFlight) return
    this.#receive(status, headers)
    this.#endAttempt()
    this.#x.send(status, headers, body)
  }

  onReplyHead(status: number, headers: HeaderList, length: number): void {
    if (!this.inFlight) return
    this.#receive(status, headers)
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
    x.trace?.failed(kind, detail)
    const replying = connection?.replying ?? false
    this.#endAttempt()
    this.connection = undefined
    x.failure = detail
    x.failureKind = kind
    const isStale = !replying && connection !== undefined && connection.served > 0
    const failure = classifyFailure(kind, isStale)
    recordFailure(this, failure, !collateral)
    const isRepeatable = this.idempotent && this.bodyLength === 0 && !replying
    if (!x.answered && mayRetry(this, failure, isRepeatable)) {
      this.isRepeat = true
      return this.#attempt()
    }
    const { service } = x.route!
    switch (kind) {
      case 'full':
        return x.giveUp(new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] }))
      case 'timeout':
      case 'connect-timeout':
        return x.giveUp(new GatewayError(service, 504, detail))
      default:
        return x.giveUp(
          new GatewayError(service, 502, `bad gateway: ${describe(kind, detail)}`, {
            cause: detail,
          }),
        )
    }
  }

  #receive(status: number, headers: HeaderList): void {
    const x = this.#x
    x.upstreamReplyMs = tickNow()
    x.trace?.answered(status)
    recordStatus(this, status)
    if (this.#hasNodeHost) restoreHost(x, this.node!, headers)
    const cookie = this.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) headers.append('set-cookie', cookie)
  }

  #endAttempt(): void {
    this.#x.trace?.leave()
    endAttempt(this)
  }
}

function describe(kind: 'connect' | 'closed' | 'malformed', detail: string): string {
  switch (kind) {
    case 'connect':
      return describeConnectFault(detail, 'the backend')
    case 'closed':
      // With TLS 1.3 the alert follows the handshake.
      if (findConnectFault(detail) === 'client-certificate')
        return describeConnectFault(detail, 'the backend')
      return 'the backend closed the connection before the end of its response'
    case 'malformed':
      return 'malformed response from the backend'
  }
}

import { tickNow } from '../../lib/time/tick-clock.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { Peer } from '../request/incoming-request.ts'
import { forwardGrpc } from '../rpc/grpc/forward.ts'
import { toNoNode } from './balance/no-node.ts'
import type { FailureKind, UpstreamCall, UpstreamFailure } from './call.ts'
import { describeConnectFault, findConnectFault } from './connect-error.ts'
import type { Http1Connection } from './http1/connection.ts'
import { formatRequestHead } from './http1/request-head.ts'
import type { UpstreamNode } from './node-health.ts'
import { mayRetry } from './retry.ts'
import { canTryAnother } from './tried-nodes.ts'

/** Forwards a routed exchange to a node of its service, whole or in streams, and relays the reply. */
export function forward(x: Exchange): void {
  if (x.upstream?.grpc) return forwardGrpc(x)
  new Forwarding(x).start()
}

/** One exchange on its way to a backend and back: the peer of the exchange, and the call on the connection. */
class Forwarding implements Peer, UpstreamCall {
  readonly method: string
  head: string
  readonly bodyLength: number
  readonly idempotent: boolean
  readonly isPatient = false
  connection: Http1Connection | undefined = undefined
  deadlineMs = 0
  isRepeat = false
  whole = ''
  readonly #x: Exchange
  #node: UpstreamNode | undefined = undefined
  #attempts = 0
  /** Nodes it has no reply from; not those whose kept connection it lost. */
  #tried: UpstreamNode[] | undefined = undefined
  /** Reply and request are done, or given up. */
  #over = false

  constructor(x: Exchange) {
    this.#x = x
    x.beforeProxy?.(x)
    this.method = x.method
    this.head = formatRequestHead(x)
    this.bodyLength = x.bodyLength
    // Others are, too, by their definition (RFC 9110 §9.2.2); whether backends keep to it nobody knows (reference 15.5).
    this.idempotent = x.method === 'GET' || x.method === 'HEAD'
  }

  start(): void {
    const x = this.#x
    x.upstreamStartMs = tickNow()
    this.#attempt()
  }

  #attempt(): void {
    const x = this.#x
    const node = x.upstream?.pick(x, this.#node, this.#tried)
    if (node === undefined) {
      this.#over = true
      const service = x.route?.service ?? ''
      const error = toNoNode(service)
      if (x.failure === '') x.failure = error.message
      x.failureKind = 'no-node'
      return x.giveUp(error)
    }
    // No body yet: until its connection is open another node may be tried.
    x.watch(this)
    if (this.#attempts++ > 0) x.upstream!.retried()
    this.#node = node
    x.node = node.id
    if (x.trace !== undefined) this.head = x.trace.sendHead(x, node, this.head)
    node.active++
    node.pool.dispatch(this)
  }

  // From the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.#over) return
    const connection = this.connection!
    if (!connection.sendBody(chunk, last) && !last) this.#x.pauseBody()
    this.#x.countSending(connection.unsentBytes)
  }

  onDrain(): void {
    // Once this reply is over the connection may serve another, with a client of its own.
    if (!this.#over) this.connection?.resume()
  }

  onAbort(): void {
    const node = this.#leave()
    node?.pool.cancel(this)
  }

  // From the backend

  onReady(): void {
    this.#x.attach(this)
  }

  onUnsent(): void {
    this.#x.watch(this)
  }

  onBodyDrain(): void {
    this.#x.countSending(0)
    this.#x.resumeBody()
  }

  onReply(status: number, headers: HeaderList, body: Uint8Array): void {
    if (this.#over) return
    this.#receive(status, headers)
    this.#leave()
    this.#x.send(status, headers, body)
  }

  onReplyHead(status: number, headers: HeaderList, length: number): void {
    if (this.#over) return
    this.#receive(status, headers)
    this.#x.start(status, headers, length)
  }

  onReplyBody(chunk: Uint8Array): boolean {
    return this.#x.write(chunk)
  }

  onReplyEnd(): void {
    if (this.#over) return
    this.#leave()
    this.#x.end()
  }

  onFailure({ kind, detail, collateral }: UpstreamFailure): void {
    if (this.#over) return
    const x = this.#x
    const { connection } = this
    x.trace?.failed(kind, detail)
    const replying = connection?.replying ?? false
    const node = this.#leave()!
    this.connection = undefined
    x.failure = detail
    x.failureKind = kind
    if (!collateral && isFault(kind, replying, connection?.served === 0)) {
      const connecting = kind === 'connect' || kind === 'connect-timeout'
      x.upstream!.failed(node, connecting ? 'connect' : 'gateway')
    }
    const repeatable = this.idempotent && this.bodyLength === 0
    const kept = kind === 'closed' && connection !== undefined && connection.served > 0
    this.#tried ??= []
    if (!kept) this.#tried.push(node)
    const another = canTryAnother(x.upstream!, this.#tried)
    const attempts = this.#attempts
    if (!x.answered && mayRetry(kind, { attempts, another, kept, repeatable, replying })) {
      this.#over = false
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
    const node = this.#node!
    const upstream = x.upstream!
    x.upstreamReplyMs = tickNow()
    x.trace?.answered(status)
    if (status === 502 || status === 503 || status === 504) upstream.failed(node, 'status')
    else upstream.succeeded(node)
    const cookie = upstream.replyCookie?.(x, node)
    if (cookie !== undefined) headers.append('set-cookie', cookie)
  }

  /** The attempt is over; says on which node it was. */
  #leave(): UpstreamNode | undefined {
    if (this.#over) return undefined
    this.#over = true
    this.#x.trace?.leave()
    const node = this.#node
    if (node !== undefined) node.active--
    return node
  }
}

/** Whether a failure counts against the node. */
function isFault(kind: FailureKind, replying: boolean, fresh: boolean): boolean {
  // A kept connection that ends unused is the backend's right.
  return kind === 'closed' ? replying || fresh : kind !== 'full'
}

function describe(kind: 'connect' | 'closed' | 'malformed', detail: string): string {
  switch (kind) {
    case 'connect':
      return describeConnectFault(detail, 'the backend')
    case 'closed':
      // With TLS 1.3 the alert comes after the handshake.
      if (findConnectFault(detail) === 'client-certificate')
        return describeConnectFault(detail, 'the backend')
      return 'the backend closed the connection before the end of its reply'
    case 'malformed':
      return 'the reply of the backend is malformed'
  }
}

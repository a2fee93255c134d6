import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import { toNoNode } from '../upstream/balance/no-node.ts'
import type { UpstreamNode } from '../upstream/node-health.ts'
import { canTryAnother } from '../upstream/tried-nodes.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { OutgoingCall, type TransportFailure } from './call.ts'
import { deadlines } from './deadlines.ts'
import { toTransportError } from './transport-error.ts'

/**
 * A call on its way to some node of a service.
 *
 * One that certainly was not served goes to the next node, whatever it is. One whose connection was lost may have been
 * served: it is 502. What becomes of a call says whether its node is well.
 */
export abstract class BalancedCall extends OutgoingCall {
  /** The answer is complete, or nobody waits for it. */
  protected over = false
  /** The nodes it may go to; set before the first {@link attempt}. */
  protected upstream: Upstream | undefined = undefined
  /** The one that has it, or had it last. */
  protected node: UpstreamNode | undefined = undefined
  /** How often it was sent. */
  protected attempts = 0
  /** Nodes that certainly have not served it. */
  protected tried: UpstreamNode[] | undefined = undefined
  /** Milliseconds from {@link startedMs} to the answer; 0: no limit. What the service is told of it is `timeoutMs`. */
  protected limitMs = 0
  /** `performance.now()` */
  protected startedMs = 0

  /** The service answered with an error, and the call is not repeated. */
  protected abstract refused(error: GatewayError): void

  /** The call has no answer but this error. */
  protected abstract failed(error: GatewayError): void

  /** It is about to be sent to this node. */
  protected chosen(_node: UpstreamNode): void {}

  /** Why an attempt failed, for logs. */
  protected note(_detail: string): void {}

  /** Whether a call that was answered with this error is sent once more. */
  protected mayRepeat(_error: GatewayError): boolean {
    return false
  }

  /**
   * The node for the next attempt, as of `Upstream.pick`; undefined: there is none.
   *
   * @param last the one that had it.
   */
  protected abstract pick(last: UpstreamNode | undefined): UpstreamNode | undefined

  /** Sends it to a node. */
  protected attempt(): void {
    const node = this.pick(this.node)
    if (node === undefined) {
      this.over = true
      const error = toNoNode(this.service)
      if (this.attempts === 0) this.note(error.message)
      return this.failed(error)
    }
    if (this.attempts++ > 0) this.upstream!.retried()
    this.node = node
    node.active++
    this.chosen(node)
    if (this.timeoutMs === 0 && this.limitMs > 0) deadlines.add(this, this.limitMs, this.startedMs)
    node.caller.call(this)
  }

  /** {@link attempt}, in the time that is left. */
  protected again(): void {
    if (this.limitMs > 0) {
      const left = this.limitMs - (performance.now() - this.startedMs)
      if (left <= 0) return this.failed(toTransportError(this.service, 'timeout', ''))
      if (this.timeoutMs > 0) this.timeoutMs = Math.ceil(left)
    }
    this.over = false
    this.id = 0
    this.sentMs = 0
    this.attempt()
  }

  /** The answer has begun. */
  protected isWell(): void {
    this.upstream!.succeeded(this.node!)
  }

  /** The node is done with it; says which one that was, once. */
  protected leave(): UpstreamNode | undefined {
    if (this.over) return undefined
    this.over = true
    const { node } = this
    if (node !== undefined) node.active--
    return node
  }

  override onFail(error: GatewayError, isForeign = false): void {
    if (this.over) return
    const node = this.leave()!
    const { code } = error
    // An error of the protocol proves that the node answers, whatever it says.
    if (isForeign && (code === 502 || code === 503 || code === 504))
      this.upstream!.failed(node, 'gateway')
    else this.upstream!.succeeded(node)
    if (this.mayRepeat(error)) this.again()
    else this.refused(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.over) return
    const upstream = this.upstream!
    const node = this.leave()!
    this.note(detail)
    if (kind === 'connect' || kind === 'foreign') upstream.failed(node, 'connect')
    else if (kind === 'closed') upstream.failed(node, 'gateway')
    if (kind !== 'closed' && kind !== 'stopped' && kind !== 'timeout') {
      this.tried ??= []
      this.tried.push(node)
      if (!this.started && canTryAnother(upstream, this.tried)) return this.again()
    }
    this.failed(toTransportError(this.service, kind, detail))
  }

  override onDeadline(): void {
    // For what is told of it.
    this.timeoutMs = this.limitMs
    super.onDeadline()
  }
}

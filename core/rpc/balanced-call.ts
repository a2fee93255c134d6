import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import {
  type Attempts,
  beginAttempt,
  endAttempt,
  isGatewayError,
  mayRetry,
  pickNode,
  recordFailure,
  recordSuccess,
} from '../upstream/attempts.ts'
import { toNoNode } from '../upstream/balance/no-node.ts'
import type { UpstreamNode } from '../upstream/node-health.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { OutgoingCall, type TransportFailure } from './call.ts'
import { deadlines } from './deadlines.ts'
import { toAttemptFailure, toTransportError } from './transport-error.ts'

/**
 * A call on its way to some node of a service.
 *
 * One that certainly was not served goes to the next node, whatever it is. One whose connection was lost may have been
 * served: it is 502. What becomes of a call says whether its node is well.
 */
export abstract class BalancedCall extends OutgoingCall implements Attempts {
  /** The answer is complete, or nobody waits for it. */
  protected over = false
  /** Set before the first {@link attempt}. */
  upstream: Upstream | undefined = undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
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

  /** Node for the next attempt; undefined: none is left. */
  protected pick(): UpstreamNode | undefined {
    return pickNode(this, undefined)
  }

  /** Sends it to a node. */
  protected attempt(): void {
    const node = this.pick()
    if (node === undefined) {
      this.over = true
      const error = toNoNode(this.service)
      if (this.attempts === 0) this.note(error.message)
      return this.failed(error)
    }
    beginAttempt(this, node)
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
    recordSuccess(this)
  }

  /** The node is done with it. */
  protected leave(): void {
    this.over = true
    endAttempt(this)
  }

  override onFail(error: GatewayError, isForeign = false): void {
    if (this.over) return
    this.leave()
    // An error of the protocol proves that the node answers, whatever it says.
    if (isForeign && isGatewayError(error.code)) recordFailure(this, 'gateway')
    else recordSuccess(this)
    if (this.mayRepeat(error)) this.again()
    else this.refused(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.over) return
    this.leave()
    this.note(detail)
    const failure = toAttemptFailure(kind)
    recordFailure(this, failure)
    if (!this.started && mayRetry(this, failure, false)) return this.again()
    this.failed(toTransportError(this.service, kind, detail))
  }

  override onDeadline(): void {
    // For what is told of it.
    this.timeoutMs = this.limitMs
    super.onDeadline()
  }
}

import { performance } from 'node:perf_hooks'
import type { GatewayError } from '../errors.ts'
import {
  beginAttempt,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordSuccess,
} from '../upstream/attempts.ts'
import { noNodeError } from '../upstream/balance/no-node.ts'
import { isGatewayError } from '../upstream/health/outlier-detection.ts'
import type { UpstreamNode } from '../upstream/node/upstream-node.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { OutgoingCall, type TransportFailure } from './call.ts'
import { deadlines } from './deadlines.ts'
import type { CallRace, HedgeableCall } from './hedge.ts'
import { toAttemptFailure, toTransportError } from './transport-error.ts'

/**
 * A call that is load-balanced across the nodes of a service.
 *
 * A call that never reached a node is sent to the next one, regardless of its method. A call whose connection
 * was lost may have been served and fails with 502. Each outcome counts towards the health of the node. See {@link
 * CallRace} for hedged calls.
 */
export abstract class BalancedCall extends OutgoingCall implements HedgeableCall {
  /** Whether the response is complete or no longer expected. */
  protected isSettled = false
  /** Set before the first {@link attempt}. */
  upstream: Upstream | undefined = undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  race: CallRace | undefined = undefined
  /**
   * Milliseconds from {@link startedMs} to the response; 0 for no limit. The deadline sent to the service is
   * `timeoutMs`.
   */
  protected limitMs = 0
  /** `performance.now()` at the start of the call. */
  protected startedMs = 0

  get routeName(): string {
    return this.endpoint
  }

  /** Called when the service returns an error and the call is not retried. */
  protected abstract onDenied(error: GatewayError): void

  /** Called when the call fails with an error of the gateway itself. */
  protected abstract failed(error: GatewayError): void

  /** Called before each attempt. */
  protected chosen(_node: UpstreamNode): void {}

  /** Records why an attempt failed, for logs. */
  protected note(_detail: string): void {}

  /** Whether a call that failed with this error is sent again. */
  protected mayRepeat(_error: GatewayError): boolean {
    return false
  }

  /** Selects the node for the next attempt. Returns undefined if no node is left. */
  protected pick(): UpstreamNode | undefined {
    return pickNode(this, undefined)
  }

  protected attempt(): void {
    const node = this.pick()
    if (node === undefined) {
      this.isSettled = true
      const error = noNodeError(this.service, this.upstream)
      if (this.attempts === 0) this.note(error.message)
      return this.failed(error)
    }
    beginAttempt(this, node)
    this.chosen(node)
    if (this.timeoutMs === 0 && this.limitMs > 0) deadlines.add(this, this.limitMs, this.startedMs)
    this.race?.start()
    node.caller.call(this)
  }

  /** Retries within the remaining time. */
  protected retryCall(): void {
    if (this.limitMs > 0) {
      const remainingMs = this.limitMs - (performance.now() - this.startedMs)
      if (remainingMs <= 0) return this.failed(toTransportError(this.service, 'timeout', ''))
      if (this.timeoutMs > 0) this.timeoutMs = Math.ceil(remainingMs)
    }
    this.isSettled = false
    this.id = 0
    this.sentMs = 0
    this.attempt()
  }

  /** Records that the node responds. */
  protected recordHealthy(): void {
    this.race?.win(this)
    recordSuccess(this)
  }

  /** Ends the attempt. */
  protected endAttempt(): void {
    this.isSettled = true
    this.race?.end(this)
    endAttempt(this)
  }

  cancelAttempt(): void {
    endAttempt(this)
    this.cancel()
  }

  override onFail(error: GatewayError, isUntyped = false): void {
    if (this.isSettled) return
    // Any typed error proves that the node responds.
    if (isUntyped && isGatewayError(error.code)) recordFailure(this, 'gateway')
    else recordSuccess(this)
    if (this.race?.remove(this)) return endAttempt(this)
    this.endAttempt()
    if (this.mayRepeat(error)) this.retryCall()
    else this.onDenied(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.isSettled) return
    const failure = toAttemptFailure(kind)
    recordFailure(this, failure)
    this.note(detail)
    // The deadline ends all attempts.
    if (kind !== 'timeout' && this.race?.remove(this)) return endAttempt(this)
    this.endAttempt()
    if (!this.started && mayRetry(this, failure, false)) return this.retryCall()
    this.failed(toTransportError(this.service, kind, detail))
  }

  override onDeadline(): void {
    // The error and the trace report the full limit.
    this.timeoutMs = this.limitMs
    super.onDeadline()
  }
}

// A single long file: one call, with the state that its attempts share.
import { performance } from 'node:perf_hooks'
import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Span, Tracer } from '../../core/contracts/tracer.ts'
import { GatewayError } from '../../core/errors.ts'
import { isDeclaredRepeatable } from '../../core/registry/repeatable-endpoint.ts'
import { OutgoingCall, type TransportFailure } from '../../core/rpc/call.ts'
import { deadlines } from '../../core/rpc/deadlines.ts'
import { CallRace, type HedgeableCall } from '../../core/rpc/hedge.ts'
import { toAttemptFailure, toTransportError } from '../../core/rpc/transport-error.ts'
import {
  beginAttempt,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordSuccess,
  takeBudget,
} from '../../core/upstream/attempts.ts'
import { noNodeError } from '../../core/upstream/balance/no-node.ts'
import { isGatewayError } from '../../core/upstream/health/outlier-detection.ts'
import type { UpstreamNode } from '../../core/upstream/node/upstream-node.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import { type Abortable, unwatchAbort, watchAbort } from '../../lib/async/abort-watch.ts'
import { toBackOffMs } from '../../lib/async/backoff.ts'
import { beginCall, carrySpan, endCall, setSpanNode } from '../tracing/call-span.ts'
import type { CallPlan, CallRouter, LocalService } from './call-options.ts'
import { CLIENT_CLOSED_REQUEST } from './client-closed-request.ts'
import { toLocalValue } from './in-process.ts'

/** Back-off before the second retry; doubles with each further retry. */
const BACK_OFF = { minMs: 100, maxMs: 102_400 }

/**
 * A load-balanced call.
 *
 * A call that never reached a node is sent to the next one. A call that failed with 500 or 408 is retried
 * (specification: Errors 5) immediately, then after 100 ms, 200 ms and so on, preferably on another node, until its
 * deadline. Endpoints declared as not idempotent by the service or the registry are not retried. A call whose
 * connection was lost may have been served, so it fails with 502. Only calls of endpoints declared as idempotent or
 * read-only are hedged, see {@link CallRace}.
 */
export abstract class RoutedCall extends OutgoingCall implements Abortable, HedgeableCall {
  upstream: Upstream | undefined = undefined
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  race: CallRace | undefined = undefined
  /** True if the service runs in this process. Bodies are then passed as {@link value}. */
  isLocal = false
  /** Request of a call within the process. */
  protected value: unknown = undefined
  /** True once the response is complete or no longer expected. */
  protected isSettled = false
  private readonly owner: CallRouter
  private readonly address: string | undefined
  private readonly limitMs: number
  private readonly signal: AbortSignal | undefined
  private readonly contextSignal: AbortSignal | undefined
  private tokens: TokenSource | undefined
  /** Metadata without the token. */
  private readonly baseMetadata: string
  /** Token of the last attempt. */
  private token: string | undefined = undefined
  /** True if the token has already been renewed once. */
  private isRenewed = false
  private readonly closing: AbortSignal | undefined
  private readonly startedMs = performance.now()
  private local: LocalService | undefined = undefined
  private retries: number
  private repeated = 0
  private timer: NodeJS.Timeout | undefined = undefined
  /** Span of the current attempt. */
  private span: Span | undefined = undefined

  /** @param closing signal that also cancels the call. If undefined, the call outlives its client. */
  constructor(owner: CallRouter, plan: CallPlan, closing?: AbortSignal) {
    super()
    this.closing = closing
    this.owner = owner
    this.address = plan.address
    this.limitMs = plan.timeoutMs
    this.retries = plan.retries
    this.signal = plan.signal
    this.contextSignal = plan.contextSignal
    this.service = plan.service
    this.endpoint = plan.endpoint
    this.metadata = plan.metadata
    this.baseMetadata = plan.metadata
    this.tokens = plan.tokens
    this.timeoutMs = plan.timeoutMs
  }

  get routeName(): string {
    return this.endpoint
  }

  /** Starts the call. Errors are reported through {@link failed}. */
  begin(): void {
    const signal = this.signal
    const contextSignal = this.contextSignal
    if (signal?.aborted) return this.onAbort(signal.reason)
    if (contextSignal?.aborted) return this.onAbort(contextSignal.reason)
    if (signal !== undefined) watchAbort(signal, this)
    if (contextSignal !== undefined) watchAbort(contextSignal, this)
    if (this.closing !== undefined) watchAbort(this.closing, this)
    try {
      const target = this.identify(this.owner.find(this.service, this.address))
      if (target instanceof Promise) {
        target.then(
          (resolved) => this.route(resolved, this.remainingMs()),
          (error) => this.fail(error),
        )
        // Encoded before the call returns, because the caller may change the request afterwards.
        this.prepare()
        this.arm()
      } else {
        this.isLocal = target !== undefined && 'caller' in target
        this.prepare()
        this.route(target, this.limitMs)
      }
    } catch (error) {
      this.fail(error)
    }
  }

  /**
   * The request for a service in this process, which may modify it. Returns a copy if the request may be sent again.
   */
  takeValue(): unknown {
    return this.retries > 0 ? toLocalValue(this.value) : this.value
  }

  /** Encodes the body. Errors are thrown to the caller. */
  protected abstract prepare(): void

  /** Called when the call has failed. */
  protected abstract failed(error: unknown): void

  /** Called when the call has been passed to a transport. */
  protected dispatched(): void {}

  /** Ends the call. Returns false if it had already ended. */
  protected answered(): boolean {
    if (this.isSettled) return false
    this.markHealthy()
    this.settle(200)
    return true
  }

  /** Records that the node has responded. */
  protected markHealthy(): void {
    this.race?.win(this)
    if (this.inFlight) recordSuccess(this)
  }

  /** Cancels the call. Returns false if it had already ended. */
  protected drop(): boolean {
    if (this.isSettled) return false
    this.cancel()
    this.settle(CLIENT_CLOSED_REQUEST)
    return true
  }

  override onFail(error: GatewayError, isUntyped = false): void {
    if (this.isSettled) return
    const { code, repeatable } = error
    // Any typed error proves that the node responds.
    if (isUntyped && isGatewayError(code) && this.inFlight) recordFailure(this, 'gateway')
    else if (this.inFlight) recordSuccess(this)
    endAttempt(this)
    if (this.race?.remove(this)) return
    this.race?.end(this)
    this.endSpan(code, error.message)
    if (this.mayRenew(error)) this.renew(error)
    else if ((code === 500 || code === 408) && repeatable && this.mayRepeat()) this.repeat(error)
    else this.fail(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.isSettled) return
    const failure = toAttemptFailure(kind)
    if (this.inFlight) recordFailure(this, failure)
    endAttempt(this)
    // The deadline ends all attempts.
    if (kind !== 'timeout' && this.race?.remove(this)) return
    this.race?.end(this)
    this.span?.fail(kind, detail)
    this.endSpan()
    const { proxy } = this.owner
    const isProxied = proxy !== undefined && this.upstream?.name === proxy
    const callee = isProxied ? 'the RPC proxy' : 'the service'
    const error = toTransportError(this.service, kind, detail, callee)
    if (this.node !== undefined && !this.started && mayRetry(this, failure, false)) this.attempt()
    else this.fail(error)
  }

  onAbort(reason: unknown): void {
    if (this.drop()) this.failed(reason)
  }

  override onDeadline(): void {
    if (this.carrier !== undefined) super.onDeadline()
    else this.onLost('timeout', `nothing was sent within ${this.limitMs} ms`)
  }

  cancelAttempt(): void {
    endAttempt(this)
    this.cancel()
  }

  /** Waits for the login if the call leaves the process. The token is not sent to unknown addresses. */
  private identify(target: ReturnType<CallRouter['find']>): ReturnType<CallRouter['find']> {
    if (this.tokens === undefined || (target !== undefined && 'caller' in target)) return target
    // Errors are handled later, but a rejection before that would end the process.
    if (target instanceof Promise) target.catch(() => {})
    const address = this.address
    const isKnown = address === undefined || this.owner.isKnown(this.service, address)
    if (!(isKnown instanceof Promise)) return this.logIn(target, isKnown)
    return isKnown.then((isAllowed) => this.logIn(target, isAllowed))
  }

  private logIn(
    target: ReturnType<CallRouter['find']>,
    isKnown: boolean,
  ): ReturnType<CallRouter['find']> {
    if (!isKnown) this.tokens = undefined
    const ready = this.tokens?.ready()
    return ready === undefined ? target : ready.then(() => target)
  }

  private route(target: Upstream | LocalService | undefined, timeLeftMs: number): void {
    if (this.isSettled) return
    if (target === undefined) {
      const detail = `service not found: ${this.service}`
      return this.fail(new GatewayError(this.service, 404, detail))
    }
    if ('caller' in target) this.local = target
    else this.routeTo(target)
    this.attempt(timeLeftMs)
  }

  private routeTo(upstream: Upstream): void {
    this.upstream = upstream
    const { hedge } = upstream
    if (hedge === undefined || hedge.max === 0 || this.retries === 0) return
    if (isDeclaredRepeatable(upstream.endpoints.get(this.endpoint)))
      this.race = new CallRace(this, hedge, undefined)
  }

  /** Runs in timers and connection callbacks, where errors would be uncaught and end the process. */
  private attempt(timeLeftMs = this.remainingMs()): void {
    if (timeLeftMs < 0) return this.onLost('timeout', '')
    this.timeoutMs = timeLeftMs
    this.id = 0
    try {
      this.dispatch()
    } catch (error) {
      this.cancel()
      this.fail(error)
    }
  }

  private dispatch(): void {
    if (this.tokens !== undefined && this.local === undefined) {
      const token = this.tokens.current()
      this.token = token
      if (token !== undefined)
        this.metadata = `authorization: Bearer ${token}\r\n${this.baseMetadata}`
    }
    const { traces } = this.owner
    if (traces?.tracer !== undefined) this.beginSpan(traces.tracer, traces.begins)
    const caller = this.local?.caller ?? this.pick()?.caller
    if (caller === undefined) return this.fail(noNodeError(this.service, this.upstream))
    caller.call(this)
    this.dispatched()
  }

  private pick(): UpstreamNode | undefined {
    const node = pickNode(this, undefined)
    if (node === undefined) return undefined
    beginAttempt(this, node)
    if (this.span !== undefined) setSpanNode(this.span, node, this.attempts)
    this.race?.start()
    return node
  }

  /** Starts the span of an attempt. A stream starts no new trace, because subscriptions never end. */
  private beginSpan(tracer: Tracer, begins: boolean): void {
    // Excludes the token, because spans are exported.
    const { service, endpoint } = this
    const call = { service, endpoint, metadata: this.baseMetadata }
    this.span = beginCall(tracer, 'client', call, begins && !this.stream, performance.now())
    if (this.span !== undefined) this.metadata = carrySpan(this.metadata, this.span)
  }

  private endSpan(code?: number, detail?: string): void {
    const span = this.span
    if (span === undefined) return
    this.span = undefined
    if (code === undefined) span.end()
    else endCall(span, 'client', code, detail)
  }

  private repeat(error: GatewayError): void {
    this.retries--
    const delayMs = toDelay(this.repeated++)
    if (delayMs === 0) return this.attempt()
    const budgetMs = this.remainingMs()
    if (budgetMs !== 0 && budgetMs <= delayMs) return this.fail(error)
    this.arm()
    this.timer = setTimeout(() => this.attempt(), delayMs)
  }

  /** True if the token was rejected and can be renewed. */
  private mayRenew(error: GatewayError): boolean {
    if (this.token === undefined || this.isRenewed || this.started || this.answering) return false
    return isInvalidToken(error) && this.tokens!.isRejected(this.token)
  }

  private renew(error: GatewayError): void {
    this.isRenewed = true
    this.arm()
    const retry = (): void => {
      if (!this.isSettled) this.attempt()
    }
    // A failed login was already reported to the call that started it. This call fails with its own error.
    Promise.resolve(this.tokens!.ready()).then(retry, () => this.fail(error))
  }

  private mayRepeat(): boolean {
    if (this.retries <= 0 || this.started || this.answering) return false
    const { upstream } = this
    if (upstream === undefined) return true
    return (
      upstream.endpoints.get(this.endpoint)?.metadata['idempotent'] !== 'false' && takeBudget(this)
    )
  }

  /** Remaining milliseconds: 0 without a deadline, negative after it. */
  private remainingMs(): number {
    if (this.limitMs === 0) return 0
    const budgetMs = this.limitMs - (performance.now() - this.startedMs)
    return budgetMs > 0 ? budgetMs : -1
  }

  /** Starts the deadline timer while no transport owns the call. */
  private arm(): void {
    const budgetMs = this.remainingMs()
    if (budgetMs !== 0 && this.timedNext === undefined) deadlines.add(this, Math.max(1, budgetMs))
  }

  private fail(error: unknown): void {
    if (this.isSettled) return
    this.settle(error instanceof GatewayError ? error.code : 500)
    this.failed(error)
  }

  private settle(code: number): void {
    this.isSettled = true
    this.race?.end(this)
    this.endSpan(code)
    this.release()
    endAttempt(this)
    clearTimeout(this.timer)
    if (this.signal !== undefined) unwatchAbort(this.signal, this)
    if (this.contextSignal !== undefined) unwatchAbort(this.contextSignal, this)
    if (this.closing !== undefined) unwatchAbort(this.closing, this)
    const { traces } = this.owner
    if (traces === undefined) return
    const name = `${this.service}.${this.endpoint}`
    traces.add(name, 'OUTBOUND', this.startedMs, performance.now(), code, this.baseMetadata)
  }
}

/** Back-off of a retry (reference 15.5), with jitter so that callers that failed together do not retry together. */
function toDelay(repeated: number): number {
  if (repeated === 0) return 0
  return toBackOffMs(repeated - 1, BACK_OFF)
}

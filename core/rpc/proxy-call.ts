import { performance } from 'node:perf_hooks'
import type { Maybe } from '../../lib/async/maybe.ts'
import { GatewayError } from '../errors.ts'
import { isServiceName } from '../registry/service-name.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { BalancedCall } from './balanced-call.ts'
import type { CallReceiver, CancelReason, IncomingCall } from './call.ts'
import { toBadResponse } from './error-codec.ts'
import { addHop, PROXY_ID } from './hops.ts'
import { BodyRelay } from './http/body-relay.ts'

/**
 * Finds the nodes of a service by its full name and the metadata of the call. Returns undefined if the service is not
 * registered.
 *
 * @throws {GatewayError} if the registry is unavailable.
 */
export type FindUpstream = (service: string, metadata: string) => Maybe<Upstream | undefined>

/**
 * Forwards a call to a node of its service using the node's protocol, and relays the response (docs/protocol.md §4).
 *
 * Bodies and metadata, except the hop count, are forwarded unchanged. Buffering is bounded by the flow-control window
 * of the sender. A call that never reached a node is sent to the next one. A call that returned an error is not
 * retried, since this is the caller's decision.
 *
 * @param metadata replaces the metadata of the call.
 * @throws {GatewayError} 400 for an invalid service name, 508 for a call that has passed too many proxies.
 */
export function forwardCall(
  call: IncomingCall,
  find: FindUpstream,
  metadata: string = call.metadata,
): void {
  checkCalledName(call)
  new ProxiedCall(call, addHop(metadata)).send(find)
}

/** @throws {GatewayError} 400 for an invalid service name. */
export function checkCalledName({ service }: IncomingCall): void {
  if (service.trim() === '') throw new GatewayError(PROXY_ID, 400, 'service name is blank')
  if (!isServiceName(service)) {
    const quoted = JSON.stringify(service.slice(0, 100))
    const detail = `service name must be letters, digits and inner dots, dashes or underscores, got ${quoted}`
    throw new GatewayError(PROXY_ID, 400, detail)
  }
}

export function toServiceNotFound(service: string): GatewayError {
  return new GatewayError(service, 404, `service not found: ${service}`)
}

/** A call relayed from one connection to another. */
class ProxiedCall extends BalancedCall {
  readonly #call: IncomingCall
  /** Bodies from the caller; undefined if it does not stream. */
  readonly requests: BodyRelay | undefined
  /** Bodies from the service; undefined if none received yet. */
  #responses: BodyRelay | undefined = undefined
  /** The error to send after the last body. */
  #error: GatewayError | undefined = undefined

  constructor(call: IncomingCall, metadata: string) {
    super()
    this.#call = call
    this.service = call.service
    this.endpoint = call.endpoint
    this.metadata = metadata
    this.stream = call.stream
    this.more = call.more
    this.timeoutMs = call.timeoutMs
    this.limitMs = call.timeoutMs
    this.startedMs = performance.now()
    // Copied because the dispatcher owns the memory and the call may be sent twice.
    this.body = Buffer.from(call.body)
    this.requests = call.more ? new BodyRelay(call, this) : undefined
    call.receiver = new CallerEnd(this)
  }

  send(find: FindUpstream): void {
    const upstream = find(this.service, this.metadata)
    if (!(upstream instanceof Promise)) return this.#route(upstream)
    upstream.then(
      (resolved) => this.#route(resolved),
      (error) => this.failed(GatewayError.from(error, this.service)),
    )
  }

  /** Whether the registry allows the call to be retried. */
  get repeatable(): boolean {
    const declared = this.upstream?.endpoints.get(this.endpoint)
    return declared?.metadata['idempotent'] !== 'false'
  }

  // Events from the caller

  pass(body: Uint8Array): void {
    if (this.requests?.push(body) === false) this.#abort(toOverload(this.service))
  }

  /** Cancels the call, whose response is no longer expected. */
  abandon(): void {
    this.requests?.clear()
    this.#responses?.clear()
    this.#error = undefined
    if (this.isSettled) return
    this.endAttempt()
    this.cancel()
  }

  /** Called when the caller accepts bodies again. */
  resume(): void {
    try {
      this.#responses?.flush()
    } catch (error) {
      return this.#abort(error)
    }
    this.#sendError()
  }

  // Towards the service

  override sendData(body: string | Uint8Array): boolean {
    // Before the call is sent, bodies wait behind it.
    if (this.carrier === undefined) return this.isSettled
    return super.sendData(body)
  }

  override onCredit(): void {
    this.requests?.flush()
  }

  protected override attempt(): void {
    super.attempt()
    if (!this.isSettled) this.requests?.flush()
  }

  // Events from the service

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.recordHealthy()
    this.endAttempt()
    this.requests?.clear()
    this.#call.reply(metadata, body)
  }

  override onStart(metadata: string): void {
    if (this.isSettled) return
    this.#begin()
    try {
      this.#call.start(metadata)
    } catch (error) {
      this.#abort(error)
    }
  }

  override onData(body: Uint8Array): void {
    if (this.isSettled) return
    this.#begin()
    try {
      if (!this.#responses!.push(body)) this.#abort(toOverload(this.service))
    } catch (error) {
      this.#abort(error)
    }
  }

  override onEnd(): void {
    if (this.isSettled) return
    this.#begin()
    this.endAttempt()
    this.requests?.clear()
    this.#responses!.end()
  }

  protected override onDenied(error: GatewayError): void {
    this.failed(error)
  }

  protected override failed(error: GatewayError): void {
    this.isSettled = true
    this.requests?.clear()
    this.#error = error
    this.#sendError()
  }

  #route(upstream: Upstream | undefined): void {
    if (this.isSettled) return
    if (upstream === undefined) return this.failed(toServiceNotFound(this.service))
    this.upstream = upstream
    this.retryCall()
  }

  /** Handles the start of a streamed response. */
  #begin(): void {
    if (this.#responses !== undefined) return
    this.#responses = new BodyRelay(this, this.#call)
    this.recordHealthy()
    // Releases the request: a stream may be long, and the call can no longer be retried.
    this.body = ''
  }

  /** Sends the pending error after the last body. */
  #sendError(): void {
    const error = this.#error
    if (error === undefined || this.#responses?.isEmpty === false) return
    this.#error = undefined
    this.#call.fail(error)
  }

  /** Aborts the call when a body or metadata cannot be relayed. */
  #abort(thrown: unknown): void {
    this.abandon()
    const isTyped = thrown instanceof GatewayError
    this.failed(isTyped ? thrown : toBadResponse(this.service, (thrown as Error).message))
  }
}

function toOverload(service: string): GatewayError {
  const detail = 'too many messages buffered for slow peers; try again later'
  return new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] })
}

/** Receiver on the caller's side. */
class CallerEnd implements CallReceiver {
  readonly #call: ProxiedCall

  constructor(call: ProxiedCall) {
    this.#call = call
  }

  get repeatable(): boolean {
    return this.#call.repeatable
  }

  onData(body: Uint8Array): void {
    this.#call.pass(body)
  }

  onEnd(): void {
    this.#call.requests?.end()
  }

  onCancel(_reason: CancelReason): void {
    this.#call.abandon()
  }

  onCredit(): void {
    this.#call.resume()
  }
}

import { performance } from 'node:perf_hooks'
import type { Maybe } from '../../lib/async/maybe.ts'
import { GatewayError } from '../errors.ts'
import { isServiceName } from '../registry/service-name.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { BalancedCall } from './balanced-call.ts'
import type { CallReceiver, CancelReason, IncomingCall } from './call.ts'
import { toBadAnswer } from './error-codec.ts'
import { addHop, PROXY_ID } from './hops.ts'
import { BodyRelay } from './http/body-relay.ts'

/**
 * The nodes of a service, by its full name, for a call with this metadata; undefined: nobody registered it.
 *
 * @throws {GatewayError} what callers are answered when nobody can tell.
 */
export type FindUpstream = (service: string, metadata: string) => Maybe<Upstream | undefined>

/**
 * Forwards a call to a node of its service, in the form that the node speaks, and the answer back (docs/protocol.md §4).
 *
 * Metadata, but for the count of hops, and bodies are passed on as they are; a body waits for whoever takes it, and nothing
 * beyond the window of the end it comes from is kept. A call that certainly was not served goes to the next node. One that
 * was answered is not repeated: whether it may be, its caller knows.
 *
 * @param metadata in place of what came.
 * @throws {GatewayError} 400 for what names no service, 508 for a call that has passed too many proxies.
 */
export function forwardCall(
  call: IncomingCall,
  find: FindUpstream,
  metadata: string = call.metadata,
): void {
  checkCalledName(call)
  new ProxiedCall(call, addHop(metadata)).send(find)
}

/** @throws {GatewayError} 400 when a call names no service. */
export function checkCalledName({ service }: IncomingCall): void {
  if (service.trim() === '') throw new GatewayError(PROXY_ID, 400, 'service name is blank')
  if (!isServiceName(service)) {
    const shown = JSON.stringify(service.slice(0, 100))
    const detail = `service name must be letters, digits and inner dots, dashes or underscores, got ${shown}`
    throw new GatewayError(PROXY_ID, 400, detail)
  }
}

/** What is said of a service nobody registered. */
export function toServiceNotFound(service: string): GatewayError {
  return new GatewayError(service, 404, `service not found: ${service}`)
}

/** A call that came over one connection, as it goes out over another. */
class ProxiedCall extends BalancedCall {
  /** As it came. */
  readonly #call: IncomingCall
  /** Bodies of the caller; undefined: it sends none. */
  readonly requests: BodyRelay | undefined
  /** Bodies of the service; undefined: none has come. */
  #answers: BodyRelay | undefined = undefined
  /** Follows the last of them. */
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
    // Of whoever dispatches it; and it may be sent twice.
    this.body = Buffer.from(call.body)
    this.requests = call.more ? new BodyRelay(call, this) : undefined
    call.receiver = new CallerEnd(this)
  }

  send(find: FindUpstream): void {
    const found = find(this.service, this.metadata)
    if (!(found instanceof Promise)) return this.#route(found)
    found.then(
      (later) => this.#route(later),
      (error) => this.failed(GatewayError.from(error, this.service)),
    )
  }

  /** Whether the registry lets the call be repeated. */
  get repeatable(): boolean {
    const declared = this.upstream?.endpoints.get(this.endpoint)
    return declared?.metadata['idempotent'] !== 'false'
  }

  // From the caller

  /** Another body of the caller. */
  pass(body: Uint8Array): void {
    if (this.requests?.push(body) === false) this.#breakOff(noRoom(this.service))
  }

  /** Nobody waits for the answer any more. */
  leaveBehind(): void {
    this.requests?.clear()
    this.#answers?.clear()
    this.#error = undefined
    if (this.over) return
    this.leave()
    this.cancel()
  }

  /** The caller takes bodies again. */
  resume(): void {
    try {
      this.#answers?.flush()
    } catch (error) {
      return this.#breakOff(error)
    }
    this.#tell()
  }

  // To the service

  override sendData(body: string | Uint8Array): boolean {
    // Not sent yet: bodies follow it.
    if (this.carrier === undefined) return this.over
    return super.sendData(body)
  }

  override onCredit(): void {
    this.requests?.flush()
  }

  protected override attempt(): void {
    super.attempt()
    if (!this.over) this.requests?.flush()
  }

  // From the service

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.over) return
    this.isWell()
    this.leave()
    this.requests?.clear()
    this.#call.reply(metadata, body)
  }

  override onStart(metadata: string): void {
    if (this.over) return
    this.#begin()
    try {
      this.#call.start(metadata)
    } catch (error) {
      this.#breakOff(error)
    }
  }

  override onData(body: Uint8Array): void {
    if (this.over) return
    this.#begin()
    try {
      if (!this.#answers!.push(body)) this.#breakOff(noRoom(this.service))
    } catch (error) {
      this.#breakOff(error)
    }
  }

  override onEnd(): void {
    if (this.over) return
    this.#begin()
    this.leave()
    this.requests?.clear()
    this.#answers!.end()
  }

  protected override refused(error: GatewayError): void {
    this.failed(error)
  }

  protected override failed(error: GatewayError): void {
    this.over = true
    this.requests?.clear()
    this.#error = error
    this.#tell()
  }

  #route(upstream: Upstream | undefined): void {
    if (this.over) return
    if (upstream === undefined) return this.failed(toServiceNotFound(this.service))
    this.upstream = upstream
    this.again()
  }

  /** A stream begins. */
  #begin(): void {
    if (this.#answers !== undefined) return
    this.#answers = new BodyRelay(this, this.#call)
    this.isWell()
    // It cannot be sent again, and a stream may last.
    this.body = ''
  }

  /** Answers with the error there is, behind the bodies that wait. */
  #tell(): void {
    const error = this.#error
    if (error === undefined || this.#answers?.isEmpty === false) return
    this.#error = undefined
    this.#call.fail(error)
  }

  /** What was said cannot be passed on. */
  #breakOff(thrown: unknown): void {
    this.leaveBehind()
    const isTyped = thrown instanceof GatewayError
    this.failed(isTyped ? thrown : toBadAnswer(this.service, (thrown as Error).message))
  }
}

function noRoom(service: string): GatewayError {
  const detail = 'too many bodies wait for ends that are slow to take them, try again later'
  return new GatewayError(service, 503, detail, { headers: ['retry-after', '1'] })
}

/** The caller's end of a call. */
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
    this.#call.leaveBehind()
  }

  onCredit(): void {
    this.#call.resume()
  }
}

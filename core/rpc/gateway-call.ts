import { ByteBuffer } from '../../lib/io/byte-buffer.ts'
import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Endpoint } from '../contracts/registry.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderBlock, HeaderList } from '../http/headers.ts'
import { rejectBody } from '../limits/memory-budget.ts'
import type { Peer } from '../request/incoming-request.ts'
import { pickNode } from '../upstream/attempts.ts'
import type { UpstreamNode } from '../upstream/node-health.ts'
import { BalancedCall } from './balanced-call.ts'
import type { TransportFailure } from './call.ts'
import { toClientError, toReplyHeaders } from './context-headers.ts'
import { deadlines } from './deadlines.ts'
import { HEALTH, isHiddenFromClients } from './debug-endpoints.ts'
import { toBadAnswer } from './error-codec.ts'
import { checkNavigation } from './http/navigation.ts'
import { readTimeout } from './timeout.ts'

/** Longest request body: what a frame holds, less what stands before it. */
export const BODY_MAX_BYTES: number = 16 * 1024 * 1024 - 128 * 1024
/** Attempts of a call that reached a service, the first included (reference 15.5). */
const ATTEMPTS_MAX = 2
/** Longest time for a stream that a client may ask for. */
const ASKED_MAX_MS = 2 ** 31 - 1

/** How the calls of a handler are made. */
export interface CallLimits {
  /** Milliseconds an answer may take to come, of a stream its first body; the most a client may ask for. */
  readonly timeoutMs: number
}

/**
 * An exchange as a call on its way to a service and back.
 *
 * GET and HEAD are repeated once after an answer 500 or 408, as clients do it (specification: Errors 5), unless service or
 * registry say that the endpoint is not idempotent.
 *
 * The time a client asks for is the service's to know, and bounds a stream as a whole. Without it a stream may last as long as it likes.
 */
export abstract class GatewayCall extends BalancedCall implements Peer {
  protected readonly x: Exchange
  /** As declared; undefined: the service declares nothing. */
  protected readonly declared: Endpoint | undefined
  /** It is a stream of the client, which may be silent for as long as it likes. */
  protected readonly endless: boolean = false
  private readonly limits: CallLimits
  /** Of the request body, while more of it follows. */
  private received: ByteBuffer | undefined = undefined

  /** @throws {GatewayError} 404 when the service declares its endpoints, and this is none of them; 403 as {@link checkNavigation}. */
  constructor(x: Exchange, limits: CallLimits) {
    super()
    this.x = x
    this.limits = limits
    const { service, endpoint } = x.route!
    this.service = service
    this.endpoint = endpoint
    this.upstream = x.upstream
    const declared = x.upstream!.endpoints
    this.declared = declared.size === 0 ? undefined : declared.get(endpoint)
    const hidden = isHiddenFromClients(service, endpoint)
    if (hidden || (declared.size > 0 && this.declared === undefined && endpoint !== HEALTH))
      throw new GatewayError(service, 404, `endpoint not found: ${service}.${endpoint}`)
    checkNavigation(x, this.declared)
  }

  /** Collects the request body and makes the call of it. */
  collect(): void {
    const { x } = this
    if (x.bodyLength > BODY_MAX_BYTES) throw tooLarge(this.service)
    if (x.bodyLength === 0) this.beginWith(EMPTY)
    else x.attach(this)
  }

  /** Fills in body and metadata of the call, and sends it by {@link dispatch}. What it throws is the answer. */
  protected abstract begin(body: Uint8Array): void

  /** @throws {GatewayError} 400 when the client asks for a time that is none. */
  protected dispatch(): void {
    this.readDeadline()
    this.transmit()
  }

  /** Reads how long the call may take. @throws {GatewayError} 400 when the client asks for a time that is none. */
  protected readDeadline(): void {
    const { timeoutMs } = this.limits
    const isStream = this.endless || this.declared?.metadata['stream'] === 'true'
    const requestedMs = readTimeout(
      this.x.headers,
      isStream ? ASKED_MAX_MS : timeoutMs,
      this.service,
    )
    if (requestedMs > 0) this.limitMs = this.timeoutMs = requestedMs
    else if (!isStream) {
      this.limitMs = timeoutMs
      // What may turn out to be a stream is told of no deadline: it would end by it.
      if (this.declared !== undefined || !this.stream) this.timeoutMs = timeoutMs
    }
  }

  /** Sends the call; its deadline has been read. */
  protected transmit(): void {
    const { x } = this
    this.startedMs = tickNow()
    this.sentMs = this.startedMs
    x.upstreamStartMs = this.startedMs
    x.watch(this)
    this.attempt()
  }

  // From the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.over) return
    const received = this.received
    const size = chunk.length + (received?.length ?? 0)
    if (size > BODY_MAX_BYTES || !this.x.hold(chunk.length)) {
      this.over = true
      const { service } = this
      return this.failed(size > BODY_MAX_BYTES ? tooLarge(service) : rejectBody(service))
    }
    if (received !== undefined) {
      received.append(chunk)
      if (last) this.beginWith(received.bytes)
    } else if (last) this.beginWith(Uint8Array.prototype.slice.call(chunk))
    else {
      this.received = new ByteBuffer()
      this.received.append(chunk)
    }
  }

  onDrain(): void {}

  onAbort(): void {
    if (this.over) return
    this.leave()
    this.cancel()
  }

  // From the service

  protected override refused(error: GatewayError): void {
    const { x } = this
    x.upstreamReplyMs = tickNow()
    // Of a wrong request it may quote what is nobody's business who reads the log.
    if (error.code >= 500) x.failure = error.message
    this.failed(toClientError(error))
  }

  protected override failed(error: GatewayError): void {
    this.x.giveUp(error)
  }

  protected override note(detail: string): void {
    this.x.failure = detail
  }

  /** The answer has begun: the node is well, and a stream may take its time. */
  protected answered(): void {
    this.x.upstreamReplyMs = tickNow()
    this.isWell()
    if (this.timeoutMs === 0) deadlines.remove(this)
  }

  /**
   * Fields of the reply to an answer with this metadata, as `toReplyHeaders`; among them the cookie that binds the client to the
   * node that answers, where its service has sticky clients. Undefined: the metadata was malformed, which has been answered.
   */
  protected toHeaders(metadata: string, standard: HeaderBlock): HeaderList | undefined {
    const headers = toReplyHeaders(metadata, standard)
    if (headers === undefined) {
      const error = toBadAnswer(this.service, 'metadata is malformed')
      this.x.failure = error.message
      this.failed(error)
      return undefined
    }
    this.bind(headers)
    return headers
  }

  /** Adds the cookie that binds the client to the node that answers, where its service has sticky clients. */
  protected bind(headers: HeaderList): void {
    const { x } = this
    const cookie = x.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) headers.append('set-cookie', cookie)
  }

  /** The answer is complete. */
  protected done(): void {
    this.leave()
  }

  protected override pick(): UpstreamNode | undefined {
    const node = pickNode(this, this.x)
    if (node === undefined) this.x.failureKind = 'no-node'
    return node
  }

  protected override chosen(node: UpstreamNode): void {
    const { x } = this
    x.node = node.id
    if (x.trace !== undefined)
      this.metadata = x.trace.sendCall(this.service, this.endpoint, node, this.metadata)
  }

  protected override leave(): void {
    this.x.trace?.leave()
    super.leave()
  }

  override onFail(error: GatewayError, isForeign = false): void {
    if (!this.over) this.x.trace?.failed(String(error.code))
    super.onFail(error, isForeign)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.over) return
    this.x.failureKind = kind
    this.x.trace?.failed(kind, detail)
    super.onLost(kind, detail)
  }

  protected override mayRepeat({ code, repeatable }: GatewayError): boolean {
    const { method, answered } = this.x
    return (
      (code === 500 || code === 408) &&
      repeatable &&
      (method === 'GET' || method === 'HEAD') &&
      !answered &&
      !this.more &&
      this.attempts < ATTEMPTS_MAX &&
      this.declared?.metadata['idempotent'] !== 'false'
    )
  }

  private beginWith(body: Uint8Array): void {
    try {
      this.begin(body)
    } catch (error) {
      this.over = true
      this.failed(GatewayError.from(error, this.service))
    }
  }
}

const EMPTY = new Uint8Array(0)

function tooLarge(service: string): GatewayError {
  return new GatewayError(service, 413, `request body exceeds the limit of ${BODY_MAX_BYTES} bytes`)
}

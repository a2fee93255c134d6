import { ByteBuffer } from '../../lib/io/byte-buffer.ts'
import { tickNow } from '../../lib/time/tick-clock.ts'
import type { Endpoint } from '../contracts/registry.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderBlock, HeaderList } from '../http/headers.ts'
import { rejectBody } from '../limits/memory-budget.ts'
import { isDeclaredRepeatable } from '../registry/repeatable-endpoint.ts'
import type { Peer } from '../request/incoming-request.ts'
import { pickNode, takeRetry } from '../upstream/attempts.ts'
import type { UpstreamNode } from '../upstream/node/upstream-node.ts'
import { BalancedCall } from './balanced-call.ts'
import type { TransportFailure } from './call.ts'
import { toClientError, toReplyHeaders } from './context-headers.ts'
import { deadlines } from './deadlines.ts'
import { HEALTH, isHiddenFromClients } from './debug-endpoints.ts'
import { toBadResponse } from './error-codec.ts'
import { CallRace } from './hedge.ts'
import { checkNavigation } from './http/navigation.ts'
import { readTimeout } from './timeout.ts'

/** Maximum request body size: the frame limit minus the space for names and metadata. */
export const BODY_MAX_BYTES: number = 16 * 1024 * 1024 - 128 * 1024
/** Maximum timeout that a client may request for a stream. */
const STREAM_TIMEOUT_MAX_MS = 2 ** 31 - 1

export interface CallLimits {
  /**
   * Milliseconds to the response, or to the first body of a stream. Also the maximum timeout that a client may request.
   */
  readonly timeoutMs: number
}

/**
 * Converts a client request to a call to a service.
 *
 * GET, HEAD and endpoints declared as idempotent or read-only are retried once after 500 or 408, as clients do
 * (specification: Errors 5), and may be hedged, unless the service or the registry declares the endpoint as not
 * idempotent.
 *
 * A timeout requested by the client is forwarded to the service and limits a stream as a whole. Without it, a stream
 * has no time limit.
 */
export abstract class GatewayCall extends BalancedCall implements Peer {
  protected readonly x: Exchange
  /** Declaration of the endpoint; undefined if the service declares no endpoints. */
  protected readonly declared: Endpoint | undefined
  /** Whether the client streams, so that it may stay silent. */
  protected readonly endless: boolean = false
  private readonly limits: CallLimits
  /** Part of the request body received so far. */
  private received: ByteBuffer | undefined = undefined

  /**
   * @throws {GatewayError} 404 if the service declares endpoints but not this one, or the route names none; 403, see
   * {@link checkNavigation}.
   */
  constructor(x: Exchange, limits: CallLimits) {
    super()
    this.x = x
    this.limits = limits
    const { service, endpoint } = x.route!
    this.service = service
    this.endpoint = endpoint
    this.upstream = x.upstream
    const declared = x.upstream!.endpoints
    if (endpoint === '')
      throw new GatewayError(service, 404, `the route to ${service} has no endpoint to call`)
    this.declared = declared.size === 0 ? undefined : declared.get(endpoint)
    const hidden = isHiddenFromClients(service, endpoint)
    if (hidden || (declared.size > 0 && this.declared === undefined && endpoint !== HEALTH))
      throw new GatewayError(service, 404, `endpoint not found: ${service}.${endpoint}`)
    checkNavigation(x, this.declared)
  }

  /** Reads the request body, then starts the call. */
  collect(): void {
    const { x } = this
    if (x.bodyLength > BODY_MAX_BYTES) throw tooLarge(this.service)
    if (x.bodyLength === 0) this.beginWith(EMPTY)
    else x.pipeTo(this)
  }

  /** Sets body and metadata, and sends the call with {@link dispatch}. A thrown error becomes the response. */
  protected abstract begin(body: Uint8Array): void

  /** @throws {GatewayError} 400 if the timeout is malformed. */
  protected dispatch(): void {
    this.readDeadline()
    this.transmit()
  }

  /** Determines the deadline of the call. @throws {GatewayError} 400 if the timeout is malformed. */
  protected readDeadline(): void {
    const { timeoutMs } = this.limits
    const isStream = this.endless || this.declared?.metadata['stream'] === 'true'
    const requestedMs = readTimeout(
      this.x.headers,
      isStream ? STREAM_TIMEOUT_MAX_MS : timeoutMs,
      this.service,
    )
    if (requestedMs > 0) this.limitMs = this.timeoutMs = requestedMs
    else if (!isStream) {
      this.limitMs = timeoutMs
      // A call that may turn into a stream sends no deadline, since the stream would end with it.
      if (this.declared !== undefined || !this.stream) this.timeoutMs = timeoutMs
    }
  }

  protected transmit(): void {
    const { x } = this
    this.startedMs = tickNow()
    this.sentMs = this.startedMs
    x.upstreamStartMs = this.startedMs
    x.setPeer(this)
    const hedge = x.route!.rule?.hedge ?? x.upstream!.hedge
    if (hedge !== undefined && hedge.max > 0 && this.isRepeatable())
      this.race = new CallRace(this, hedge, x)
    this.attempt()
  }

  // Events from the client

  onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.isSettled) return
    const received = this.received
    const size = chunk.length + (received?.length ?? 0)
    if (size > BODY_MAX_BYTES || !this.x.reserveMemory(chunk.length)) {
      this.isSettled = true
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
    if (this.isSettled) return
    this.endAttempt()
    this.cancel()
  }

  // Events from the service

  protected override onDenied(error: GatewayError): void {
    const { x } = this
    x.upstreamReplyMs = tickNow()
    // The message of a client error may quote private data, so only server errors are logged.
    if (error.code >= 500) x.failure = formatFailure(error)
    this.failed(toClientError(error))
  }

  protected override failed(error: GatewayError): void {
    this.x.abortWith(error)
  }

  protected override note(detail: string): void {
    this.x.failure = detail
  }

  /** Records the start of the response: the node is healthy, and a stream has no further deadline. */
  protected answered(): void {
    this.x.upstreamReplyMs = tickNow()
    this.recordHealthy()
    if (this.timeoutMs === 0) deadlines.remove(this)
  }

  /**
   * Builds response headers like `toReplyHeaders`, with the cookie for sticky sessions. Returns undefined if the
   * metadata was malformed and the error has been sent.
   */
  protected toHeaders(metadata: string, standard: HeaderBlock): HeaderList | undefined {
    const headers = toReplyHeaders(metadata, standard)
    if (headers === undefined) {
      const error = toBadResponse(this.service, 'metadata is malformed')
      this.x.failure = formatFailure(error)
      this.failed(error)
      return undefined
    }
    this.bind(headers)
    return headers
  }

  /** Adds the cookie for sticky sessions, if the service uses them. */
  protected bind(headers: HeaderList): void {
    const { x } = this
    const cookie = x.upstream!.replyCookie?.(x, this.node!)
    if (cookie !== undefined) headers.append('set-cookie', cookie)
  }

  /** Called when the response is complete. */
  protected done(): void {
    this.endAttempt()
  }

  protected override pick(): UpstreamNode | undefined {
    const node = pickNode(this, this.x)
    if (node === undefined) this.x.failureKind = 'no-node'
    return node
  }

  protected override chosen(node: UpstreamNode): void {
    const { x } = this
    x.attempts++
    x.node = node.id
    if (x.trace !== undefined)
      this.metadata = x.trace.sendCall(this.service, this.endpoint, node, this.metadata)
  }

  protected override endAttempt(): void {
    this.x.trace?.endAttempt()
    super.endAttempt()
  }

  override onFail(error: GatewayError, isUntyped = false): void {
    if (!this.isSettled) this.x.trace?.failed(String(error.code))
    super.onFail(error, isUntyped)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.isSettled) return
    this.x.failureKind = kind
    this.x.trace?.failed(kind, detail)
    super.onLost(kind, detail)
  }

  protected override mayRepeat({ code, repeatable }: GatewayError): boolean {
    return (code === 500 || code === 408) && repeatable && this.isRepeatable() && takeRetry(this)
  }

  /** Whether the service may be sent the request twice, by declaration or method. */
  protected isRepeatable(): boolean {
    const { method, answered } = this.x
    if (answered || this.more) return false
    return isDeclaredRepeatable(this.declared) ?? (method === 'GET' || method === 'HEAD')
  }

  private beginWith(body: Uint8Array): void {
    try {
      this.begin(body)
    } catch (error) {
      this.isSettled = true
      this.failed(GatewayError.from(error, this.service))
    }
  }
}

const EMPTY = new Uint8Array(0)

/** Formats a failure for the log, since the client does not receive the cause of a malformed response. */
function formatFailure({ message, cause }: GatewayError): string {
  return typeof cause === 'string' ? `${message}: ${cause}` : message
}

function tooLarge(service: string): GatewayError {
  return new GatewayError(service, 413, `request body exceeds the limit of ${BODY_MAX_BYTES} bytes`)
}

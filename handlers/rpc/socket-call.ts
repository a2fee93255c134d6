import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { mayWait, rejectResponse } from '../../core/limits/memory-budget.ts'
import type { ServerSocket, SocketReceiver } from '../../core/listener/websocket/session.ts'
import { shapeOf } from '../../core/request/coercion/shape.ts'
import { toRequestType } from '../../core/request/media-type.ts'
import { toRequestDocument } from '../../core/request/request-document.ts'
import type { TransportFailure } from '../../core/rpc/call.ts'
import { formatContext, isJson } from '../../core/rpc/context-headers.ts'
import { type CallLimits, GatewayCall } from '../../core/rpc/gateway-call.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { frameCost, PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { Outflow } from './stream-flow-control.ts'

/** RFC 6455 §7.4.1. */
const NORMAL = 1000
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011
/** IANA WebSocket Close Code Number Registry: the client may reconnect. */
const SERVICE_RESTART = 1012
/** IANA WebSocket Close Code Number Registry: try again later. */
const OVERLOADED = 1013
/** Queued request bytes at which reading from the client pauses. */
const PAUSE_BYTES = 256 * 1024
/** Maximum queued request bytes, for clients that cannot be paused. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024
const NOTHING = new Uint8Array(0)
/** Content types with an envelope, which WebSocket messages do not have. */
const ENVELOPES: ReadonlySet<string> = new Set(['application/json-rpc', 'application/proto-rpc'])
/** First offered subprotocol. Browsers close a WebSocket whose handshake response selects none. */
const FIRST_TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+/

/**
 * A WebSocket as one call: each incoming message is a request, each outgoing message a response. An empty message ends
 * the requests. Query and path variables, if any, form the first request.
 *
 * The end of the responses closes the WebSocket with 1000. An error is sent as the last message, followed by 1008 for a
 * denied call, 1012 if the service was stopped, and 1011 otherwise. A close by the client cancels the call.
 *
 * A service with the HTTP transport accepts only one request: the query, or else the first message.
 */
export class SocketCall extends GatewayCall implements SocketReceiver {
  protected override readonly endless = true
  readonly #maxMessageBytes: number
  #socket: ServerSocket | undefined = undefined
  #binary = false
  /** Whether the call is sent with the first message. */
  #awaitsRequest = false
  /** Queued requests. */
  readonly #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #ended = false
  readonly #outflow: Outflow
  /** Whether the WebSocket closes once the response has been sent. */
  #isLast = false
  #isStopped = false

  constructor(x: Exchange, limits: CallLimits, maxMessageBytes: number = PAYLOAD_MAX_BYTES) {
    super(x, limits)
    // Longer messages could not be forwarded.
    this.#maxMessageBytes = Math.min(maxMessageBytes, PAYLOAD_MAX_BYTES)
    this.#outflow = new Outflow(
      this,
      (answers) => this.#socket?.sendAll(answers, this.#binary) ?? true,
    )
  }

  /**
   * @throws {GatewayError} 400 for an invalid query, path or deadline, 415 for content types with envelopes; see also
   * `Exchange.accept`.
   */
  open(): void {
    const { x, declared } = this
    const variables = x.route!.variables?.flat() ?? []
    const type = toRequestType(x.headers.get('content-type'), this.service)
    if (ENVELOPES.has(type.type)) {
      const detail = `WebSocket messages must be requests without an envelope, got ${type.type}`
      throw new GatewayError(this.service, 415, detail)
    }
    const isBare = variables.length === 0 && x.query === ''
    const shape = declared === undefined ? undefined : shapeOf(declared)
    const parts = { variables, query: x.query, type, body: NOTHING, shape }
    this.body = isBare ? '' : toRequestDocument(parts, this.service)
    this.#binary = isBare && type.kind === 'protobuf'
    if (!isBare && x.headers.has('content-type')) x.headers.set('content-type', 'application/json')
    const isHttpTransport = x.upstream!.nodes.every(({ protocol }) => protocol === 'http')
    this.stream = true
    this.more = !isHttpTransport
    this.#awaitsRequest = isHttpTransport && isBare
    this.metadata = formatContext(x)
    this.readDeadline()
    const protocol = FIRST_TOKEN.exec(x.headers.get('sec-websocket-protocol') ?? '')?.[0] ?? ''
    const socket = x.accept(this, { protocol, maxMessageBytes: this.#maxMessageBytes })
    if (socket === undefined) {
      this.isSettled = true
      return
    }
    this.#socket = socket
    if (!this.#awaitsRequest) this.begin()
  }

  protected begin(): void {
    this.transmit()
  }

  // Events from the client

  onMessage(data: Uint8Array): void {
    if (this.isSettled || this.#ended) return
    if (!this.more) return this.#onSingleRequest(data)
    if (data.length === 0) {
      this.#ended = true
      if (this.#waiting.length === 0) this.endData()
      return
    }
    if (this.#waiting.length === 0 && this.sendData(data)) return
    this.#waiting.push(Uint8Array.prototype.slice.call(data))
    this.#waitingBytes += frameCost(data.length)
    if (this.#waitingBytes > WAITING_MAX_BYTES) {
      this.cancel()
      this.done()
      this.#socket?.close(OVERLOADED, 'the service accepts requests too slowly')
    } else if (this.#waitingBytes > PAUSE_BYTES) this.#socket!.pause()
  }

  override onDrain(): void {
    if (this.#isLast) this.#socket?.close(NORMAL, '')
    else this.#outflow.drained()
  }

  onClose(): void {
    this.#socket = undefined
    this.onAbort()
  }

  // Events from the service

  override onCredit(): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && this.sendData(waiting[0]!)) {
      this.#waitingBytes -= frameCost(waiting.shift()!.length)
    }
    if (waiting.length > 0) return
    this.#socket?.resume()
    if (this.#ended) this.endData()
  }

  override onLost(kind: TransportFailure, detail: string): void {
    this.#isStopped = kind === 'stopped'
    super.onLost(kind, detail)
    // The call is retried on another node, which may accept requests immediately.
    if (!this.isSettled && this.more) this.onCredit()
  }

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    if (!mayWait(body)) return this.failed(rejectResponse(this.service))
    this.#readType(metadata)
    const response = body.length === 0 && !this.#binary ? '{}' : body
    // Pending bytes are no longer counted once the WebSocket is closed.
    if (this.#socket?.send(response, this.#binary) === true) this.#socket.close(NORMAL, '')
    else this.#isLast = true
  }

  override onStart(metadata: string): void {
    if (this.isSettled) return
    this.answered()
    this.#readType(metadata)
  }

  override onData(body: Uint8Array): void {
    if (this.isSettled || this.#socket === undefined) return
    if (this.x.upstreamReplyMs === 0) this.answered()
    this.#outflow.add(Buffer.from(body), body.length)
  }

  override onEnd(): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    this.#outflow.flush()
    this.#socket?.close(NORMAL, '')
  }

  protected override failed(error: GatewayError): void {
    this.#outflow.flush()
    const socket = this.#socket
    socket?.send(JSON.stringify(error.toBody()), false)
    socket?.close(this.#toCloseCode(error), error.message)
  }

  #toCloseCode({ code }: GatewayError): number {
    if (code === 401 || code === 403) return POLICY_VIOLATION
    return this.#isStopped ? SERVICE_RESTART : INTERNAL_ERROR
  }

  /** Handles the only request of a service with the HTTP transport. */
  #onSingleRequest(data: Uint8Array): void {
    if (this.#awaitsRequest) {
      this.#awaitsRequest = false
      this.body = Uint8Array.prototype.slice.call(data)
      this.begin()
    } else if (data.length > 0) {
      this.cancel()
      this.done()
      this.failed(new GatewayError(this.service, 400, `${this.endpoint} accepts only one request`))
    }
  }

  /** Sends JSON responses as text messages. */
  #readType(metadata: string): void {
    const type = metadata === '' ? undefined : findMetadata(metadata, 'content-type')
    if (type !== undefined) this.#binary = !isJson(type)
  }
}

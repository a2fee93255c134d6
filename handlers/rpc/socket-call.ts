import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { toRequestType } from '../../core/request/media-type.ts'
import { toRequestDocument } from '../../core/request/request-document.ts'
import { shapeOf } from '../../core/request/shape.ts'
import { formatContext, isJson } from '../../core/rpc/context.ts'
import { type CallLimits, ForwardedCall } from '../../core/rpc/forwarded-call.ts'
import type { ServerSocket, SocketReceiver } from '../../core/server-socket.ts'

/** RFC 6455 §7.4.1. */
const NORMAL = 1000
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011
/** Bytes of messages that wait for the service before the client is no longer read. */
const WAITING_MAX_BYTES = 256 * 1024

/**
 * A WebSocket of a client as one call: each message is a request, each answer a message. An empty message
 * is the end of the requests. Query and path variables, where there are any, are the first request.
 *
 * The end of the answers closes the WebSocket with 1000; an error is the last message, then 1008 where the
 * client may not call, else 1011. A client that closes cancels the call.
 */
export class SocketCall extends ForwardedCall implements SocketReceiver {
  readonly #maxMessageBytes: number | undefined
  #socket: ServerSocket | undefined = undefined
  #binary = false
  /** Requests that wait for the service. */
  readonly #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #ended = false
  /** Answers the client has not taken. */
  #owed: number[] = []
  #blocked = false

  constructor(x: Exchange, limits: CallLimits, maxMessageBytes?: number) {
    super(x, limits)
    this.#maxMessageBytes = maxMessageBytes
  }

  /** @throws {GatewayError} 400 when query or path do not fit the endpoint; as `Exchange.accept`. */
  open(): void {
    const { x, declared } = this
    const variables = x.route!.variables?.flat() ?? []
    const type = toRequestType(x.headers.get('content-type'), this.service)
    const isBare = variables.length === 0 && x.query === ''
    const shape = declared === undefined ? undefined : shapeOf(declared)
    const parts = { variables, query: x.query, type, body: NOTHING, shape }
    this.body = isBare ? '' : toRequestDocument(parts, this.service)
    this.#binary = type.kind === 'protobuf'
    this.stream = true
    this.more = true
    this.metadata = formatContext(x)
    const limit = this.#maxMessageBytes
    const socket = x.accept(this, limit === undefined ? {} : { maxMessageBytes: limit })
    if (socket === undefined) {
      this.over = true
      return
    }
    this.#socket = socket
    this.begin()
  }

  protected begin(): void {
    this.dispatch()
  }

  // From the client

  onMessage(data: Uint8Array): void {
    if (this.over || this.#ended) return
    if (data.length === 0) {
      this.#ended = true
      if (this.#waiting.length === 0) this.endData()
      return
    }
    if (this.#waiting.length === 0 && this.sendData(data)) return
    this.#waiting.push(Uint8Array.prototype.slice.call(data))
    this.#waitingBytes += data.length
    if (this.#waitingBytes > WAITING_MAX_BYTES) this.#socket!.pause()
  }

  override onDrain(): void {
    this.#blocked = false
    const owed = this.#owed
    this.#owed = []
    for (const bytes of owed) this.consumed(bytes)
  }

  onClose(): void {
    this.#socket = undefined
    this.onAbort()
  }

  // From the service

  override onCredit(): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && this.sendData(waiting[0]!)) {
      this.#waitingBytes -= waiting.shift()!.length
    }
    if (waiting.length > 0) return
    this.#socket?.resume()
    if (this.#ended) this.endData()
  }

  override onReply(_metadata: string, body: Uint8Array): void {
    if (this.over) return
    this.answered()
    this.done()
    this.#socket?.send(body, this.#binary)
    this.#socket?.close(NORMAL, '')
  }

  override onStart(metadata: string): void {
    const type = /(?:^|\n)content-type: *([^\r]*)/.exec(metadata)?.[1]
    if (type !== undefined) this.#binary = !isJson(type)
  }

  override onData(body: Uint8Array): void {
    if (this.over || this.#socket === undefined) return
    if (!this.#socket.send(body, this.#binary)) this.#blocked = true
    if (this.#blocked) this.#owed.push(body.length)
    else this.consumed(body.length)
  }

  override onEnd(): void {
    if (this.over) return
    this.answered()
    this.done()
    this.#socket?.close(NORMAL, '')
  }

  protected override failed(error: GatewayError): void {
    const socket = this.#socket
    socket?.send(JSON.stringify(error.toBody()), false)
    const denied = error.code === 401 || error.code === 403
    socket?.close(denied ? POLICY_VIOLATION : INTERNAL_ERROR, error.message)
  }
}

const NOTHING = new Uint8Array(0)

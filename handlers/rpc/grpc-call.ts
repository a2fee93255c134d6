import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { createHeaderBlock, type HeaderBlock } from '../../core/http/headers.ts'
import { LONG_REPLY_BYTES, rejectBody, rejectResponse } from '../../core/limits/memory-budget.ts'
import type { TransportFailure } from '../../core/rpc/call.ts'
import { formatContext, isJson } from '../../core/rpc/context-headers.ts'
import { toBadResponse } from '../../core/rpc/error-codec.ts'
import { BODY_MAX_BYTES, type CallLimits, GatewayCall } from '../../core/rpc/gateway-call.ts'
import { Base64Reader } from '../../core/rpc/grpc/base64-reader.ts'
import { MessageReader } from '../../core/rpc/grpc/message-reader.ts'
import type { Wire } from '../../core/rpc/grpc/wire-format.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { FramedReply } from './framed-reply.ts'

/** Content types of the call protocol by codec. */
const TYPES: Readonly<Record<string, string>> = {
  proto: 'application/protobuf',
  json: 'application/json',
}
/** Default response headers. */
const HEADERS: HeaderBlock = createHeaderBlock(['cache-control', 'no-store'])
const COMPRESSED = 1

/**
 * Translates a gRPC, gRPC-Web or Connect streaming call to the call protocol.
 *
 * A unary request is sent with the call. An endpoint with a request stream is called immediately, so that the endpoint
 * can send first. Undeclared endpoints are assumed to be streams.
 */
export class FramedCall extends GatewayCall {
  protected override readonly endless: boolean
  readonly #wire: Wire
  readonly #reader: MessageReader
  readonly #base64: Base64Reader | undefined
  /** Whether the request is sent with the call. */
  readonly #isUnary: boolean
  #request: Uint8Array | undefined = undefined
  /** Counted bytes of an incomplete message. */
  #bufferedBytes = 0
  /** Messages waiting for flow-control credit from the service. */
  readonly #waiting: Uint8Array[] = []
  #ended = false
  #reply: FramedReply | undefined = undefined

  /** @throws {GatewayError} 404 like every call, 415 for an unknown codec. */
  constructor(x: Exchange, limits: CallLimits, wire: Wire) {
    super(x, limits)
    this.#wire = wire
    this.#reader = new MessageReader(BODY_MAX_BYTES, (flags, message) =>
      this.#onRequestMessage(flags, message),
    )
    this.#base64 = wire.protocol === 'grpc-web-text' ? new Base64Reader() : undefined
    const streams = this.declared?.metadata['streams']
    const isStream = this.declared === undefined || this.declared.metadata['stream'] === 'true'
    this.#isUnary =
      !isStream ||
      streams === 'server' ||
      x.upstream!.nodes.every(({ protocol }) => protocol === 'http')
    this.endless = this.declared !== undefined && isStream
    if (TYPES[wire.codec] === undefined) {
      const detail = `messages must be proto or json, got ${JSON.stringify(wire.codec)}`
      throw new GatewayError(this.service, 415, detail)
    }
  }

  /** @throws {GatewayError} 400 for an invalid timeout. */
  open(): void {
    const { x } = this
    const { headers } = x
    const contentType = headers.get('content-type')!
    headers.set('content-type', TYPES[this.#wire.codec]!)
    this.metadata = formatContext(x)
    // Determines the client's protocol, including the error format.
    headers.set('content-type', contentType)
    this.stream = true
    this.readDeadline()
    if (this.#isUnary) {
      if (x.bodyLength === 0) throw this.#toBadRequest('expected one message, got none')
      return x.pipeTo(this)
    }
    this.more = true
    x.allowsIdleBody = true
    this.transmit()
    if (this.isSettled) return
    if (x.bodyLength === 0) this.endData()
    else x.pipeTo(this)
  }

  protected begin(): void {
    this.transmit()
  }

  // Events from the client

  override onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.isSettled || this.#ended) return
    const bytes = this.#base64 === undefined ? chunk : this.#base64.read(chunk)
    if (bytes === undefined) return this.#abort(this.#toBadRequest('body must be base64'))
    if (this.#reader.read(bytes) > 0) {
      const detail = `messages must not exceed ${BODY_MAX_BYTES} bytes`
      return this.#abort(new GatewayError(this.service, 413, detail))
    }
    // A message may have ended the call.
    if (this.isSettled) return
    if (!this.#reserve()) return this.#abort(rejectBody(this.service))
    if (last) this.#endRequests()
  }

  override onDrain(): void {
    this.#reply?.drained()
  }

  onRevoke(error: GatewayError): void {
    if (this.isSettled) return this.x.abortWith(error)
    this.#abort(error)
  }

  #onRequestMessage(flags: number, message: Uint8Array): void {
    if (this.isSettled) return
    if (flags !== 0) {
      const detail = 'messages must not be compressed (grpc-encoding: identity)'
      if (flags !== COMPRESSED)
        return this.#abort(this.#toBadRequest(`message has invalid flags ${flags}`))
      return this.#abort(new GatewayError(this.service, 501, detail))
    }
    if (this.#isUnary) {
      if (this.#request !== undefined)
        return this.#abort(this.#toBadRequest(`${this.endpoint} accepts one message, got several`))
      this.#request = Uint8Array.prototype.slice.call(message)
    } else if (this.#waiting.length > 0 || !this.sendData(message)) {
      this.#waiting.push(Uint8Array.prototype.slice.call(message))
      this.x.pauseBody()
    }
  }

  #endRequests(): void {
    if (this.#reader.waitingBytes > 0 || this.#base64?.isComplete === false)
      return this.#abort(this.#toBadRequest('the last message is incomplete'))
    this.#ended = true
    if (!this.#isUnary) {
      if (this.#waiting.length === 0) this.endData()
      return
    }
    if (this.#request === undefined)
      return this.#abort(this.#toBadRequest('expected one message, got none'))
    this.body = this.#request
    this.begin()
  }

  /** Reserves memory for the maximum size of the incomplete message. */
  #reserve(): boolean {
    const { waitingBytes } = this.#reader
    const more = Math.max(waitingBytes, this.#request?.length ?? 0) - this.#bufferedBytes
    if (more <= 0) return true
    this.#bufferedBytes += more
    return this.x.reserveMemory(more)
  }

  // Events from the service

  override onCredit(): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && this.sendData(waiting[0]!)) waiting.shift()
    if (waiting.length > 0) return
    this.x.resumeBody()
    if (this.#ended) this.endData()
  }

  override onLost(kind: TransportFailure, detail: string): void {
    super.onLost(kind, detail)
    // The call is retried on another node, which may accept messages immediately.
    if (!this.isSettled && this.more) this.onCredit()
  }

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    if (body.length > LONG_REPLY_BYTES && !this.x.reserveMemory(body.length))
      return this.failed(rejectResponse(this.service))
    this.#begin(metadata, body.length === 0)
    this.#reply?.data(body)
    this.#reply?.end()
  }

  override onStart(metadata: string): void {
    if (this.isSettled) return
    this.answered()
    this.#begin(metadata, false)
  }

  override onData(body: Uint8Array): void {
    if (this.isSettled) return
    if (this.#reply === undefined) this.onStart('')
    this.#reply?.data(body)
  }

  override onEnd(): void {
    if (this.isSettled) return
    this.answered()
    this.done()
    if (this.#reply === undefined) this.#begin('', true)
    this.#reply?.end()
  }

  protected override failed(error: GatewayError): void {
    if (this.#reply === undefined) super.failed(error)
    else this.#reply.fail(error)
  }

  /** Starts the response, unless the service responds in another codec. */
  #begin(metadata: string, isEmpty: boolean): void {
    const type = findMetadata(metadata, 'content-type')
    const isMismatch = isJson(type ?? TYPES['json']!) !== (this.#wire.codec === 'json')
    if (isMismatch && !(isEmpty && type === undefined)) {
      const got = type ?? TYPES['json']
      return this.#abort(toBadResponse(this.service, `expected ${this.#wire.codec}, got ${got}`))
    }
    const headers = this.toHeaders(metadata, HEADERS)
    if (headers === undefined) return this.#drop()
    this.#reply = new FramedReply(this.x, this.#wire, this, headers)
  }

  /** Cancels the call and ends the response with an error. */
  #abort(error: GatewayError): void {
    this.#drop()
    this.failed(error)
  }

  #drop(): void {
    if (!this.isSettled && this.node !== undefined) {
      this.cancel()
      this.done()
    }
    this.isSettled = true
  }

  #toBadRequest(detail: string): GatewayError {
    return new GatewayError(this.service, 400, detail)
  }
}

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

/** Content types of messages in the call protocol, by codec. */
const TYPES: Readonly<Record<string, string>> = {
  proto: 'application/protobuf',
  json: 'application/json',
}
/** Where the service says nothing else. */
const HEADERS: HeaderBlock = createHeaderBlock(['cache-control', 'no-store'])
const COMPRESSED = 1

/**
 * A call of gRPC, gRPC-Web, or a stream of Connect, as a call of a service that speaks the call protocol.
 *
 * An endpoint that takes one request gets it with the call; one that takes a stream is called at once, so that it may
 * be the first to speak. What is not declared is taken for a stream.
 */
export class FramedCall extends GatewayCall {
  protected override readonly endless: boolean
  readonly #wire: Wire
  readonly #reader: MessageReader
  readonly #base64: Base64Reader | undefined
  /** The request goes with the call. */
  readonly #takesOne: boolean
  #request: Uint8Array | undefined = undefined
  /** Bytes of an incomplete message that were counted. */
  #bufferedBytes = 0
  /** Messages the service has not taken. */
  readonly #waiting: Uint8Array[] = []
  #ended = false
  #reply: FramedReply | undefined = undefined

  /** @throws {GatewayError} 404 as every call, 415 for a codec services do not know. */
  constructor(x: Exchange, limits: CallLimits, wire: Wire) {
    super(x, limits)
    this.#wire = wire
    this.#reader = new MessageReader(BODY_MAX_BYTES, (flags, message) => this.#take(flags, message))
    this.#base64 = wire.protocol === 'grpc-web-text' ? new Base64Reader() : undefined
    const streams = this.declared?.metadata['streams']
    const isStream = this.declared === undefined || this.declared.metadata['stream'] === 'true'
    this.#takesOne =
      !isStream ||
      streams === 'server' ||
      x.upstream!.nodes.every(({ protocol }) => protocol === 'http')
    this.endless = this.declared !== undefined && isStream
    if (TYPES[wire.codec] === undefined) {
      const detail = `messages must be proto or json, got ${JSON.stringify(wire.codec)}`
      throw new GatewayError(this.service, 415, detail)
    }
  }

  /** @throws {GatewayError} 400 when the client asks for a time that is none. */
  open(): void {
    const { x } = this
    const { headers } = x
    const contentType = headers.get('content-type')!
    headers.set('content-type', TYPES[this.#wire.codec]!)
    this.metadata = formatContext(x)
    // By which the client's protocol is known, for errors too.
    headers.set('content-type', contentType)
    this.stream = true
    this.readDeadline()
    if (this.#takesOne) {
      if (x.bodyLength === 0) throw this.#wrong('one message expected, got none')
      return x.attach(this)
    }
    this.more = true
    x.patient = true
    this.transmit()
    if (this.over) return
    if (x.bodyLength === 0) this.endData()
    else x.attach(this)
  }

  protected begin(): void {
    this.transmit()
  }

  // From the client

  override onRequestBody(chunk: Uint8Array, last: boolean): void {
    if (this.over || this.#ended) return
    const bytes = this.#base64 === undefined ? chunk : this.#base64.read(chunk)
    if (bytes === undefined) return this.#refuse(this.#wrong('the body must be base64'))
    if (this.#reader.read(bytes) > 0) {
      const detail = `a message must not be longer than ${BODY_MAX_BYTES} bytes`
      return this.#refuse(new GatewayError(this.service, 413, detail))
    }
    // A message may have ended the call.
    if (this.over) return
    if (!this.#hold()) return this.#refuse(rejectBody(this.service))
    if (last) this.#endRequests()
  }

  override onDrain(): void {
    this.#reply?.drained()
  }

  onRevoke(error: GatewayError): void {
    if (this.over) return this.x.giveUp(error)
    this.#refuse(error)
  }

  #take(flags: number, message: Uint8Array): void {
    if (this.over) return
    if (flags !== 0) {
      const detail = 'messages must not be compressed (grpc-encoding: identity)'
      if (flags !== COMPRESSED) return this.#refuse(this.#wrong(`a message has flags ${flags}`))
      return this.#refuse(new GatewayError(this.service, 501, detail))
    }
    if (this.#takesOne) {
      if (this.#request !== undefined)
        return this.#refuse(this.#wrong(`${this.endpoint} takes one message, got several`))
      this.#request = Uint8Array.prototype.slice.call(message)
    } else if (this.#waiting.length > 0 || !this.sendData(message)) {
      this.#waiting.push(Uint8Array.prototype.slice.call(message))
      this.x.pauseBody()
    }
  }

  #endRequests(): void {
    if (this.#reader.waitingBytes > 0 || this.#base64?.isWhole === false)
      return this.#refuse(this.#wrong('the last message is cut off'))
    this.#ended = true
    if (!this.#takesOne) {
      if (this.#waiting.length === 0) this.endData()
      return
    }
    if (this.#request === undefined)
      return this.#refuse(this.#wrong('one message expected, got none'))
    this.body = this.#request
    this.begin()
  }

  /** Counts what lies here of a message that is not complete: the most there ever was. */
  #hold(): boolean {
    const { waitingBytes } = this.#reader
    const more = Math.max(waitingBytes, this.#request?.length ?? 0) - this.#bufferedBytes
    if (more <= 0) return true
    this.#bufferedBytes += more
    return this.x.hold(more)
  }

  // From the service

  override onCredit(): void {
    const waiting = this.#waiting
    while (waiting.length > 0 && this.sendData(waiting[0]!)) waiting.shift()
    if (waiting.length > 0) return
    this.x.resumeBody()
    if (this.#ended) this.endData()
  }

  override onLost(kind: TransportFailure, detail: string): void {
    super.onLost(kind, detail)
    // Sent to another node, which may take messages at once.
    if (!this.over && this.more) this.onCredit()
  }

  override onReply(metadata: string, body: Uint8Array): void {
    if (this.over) return
    this.answered()
    this.done()
    if (body.length > LONG_REPLY_BYTES && !this.x.hold(body.length))
      return this.failed(rejectResponse(this.service))
    this.#begin(metadata, body.length === 0)
    this.#reply?.data(body)
    this.#reply?.end()
  }

  override onStart(metadata: string): void {
    if (this.over) return
    this.answered()
    this.#begin(metadata, false)
  }

  override onData(body: Uint8Array): void {
    if (this.over) return
    if (this.#reply === undefined) this.onStart('')
    this.#reply?.data(body)
  }

  override onEnd(): void {
    if (this.over) return
    this.answered()
    this.done()
    if (this.#reply === undefined) this.#begin('', true)
    this.#reply?.end()
  }

  protected override failed(error: GatewayError): void {
    if (this.#reply === undefined) super.failed(error)
    else this.#reply.fail(error)
  }

  /** Begins the reply, unless the service answers in another codec. */
  #begin(metadata: string, isEmpty: boolean): void {
    const type = findMetadata(metadata, 'content-type')
    const isWrong = isJson(type ?? TYPES['json']!) !== (this.#wire.codec === 'json')
    if (isWrong && !(isEmpty && type === undefined)) {
      const got = type ?? TYPES['json']
      return this.#refuse(toBadResponse(this.service, `${this.#wire.codec} expected, got ${got}`))
    }
    const headers = this.toHeaders(metadata, HEADERS)
    if (headers === undefined) return this.#drop()
    this.#reply = new FramedReply(this.x, this.#wire, this, headers)
  }

  /** Ends the call, and the reply with an error. */
  #refuse(error: GatewayError): void {
    this.#drop()
    this.failed(error)
  }

  #drop(): void {
    if (!this.over && this.node !== undefined) {
      this.cancel()
      this.done()
    }
    this.over = true
  }

  #wrong(detail: string): GatewayError {
    return new GatewayError(this.service, 400, detail)
  }
}

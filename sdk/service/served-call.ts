// A single long file, because it handles one call from its first body to its last.

import type { Span } from '../../core/contracts/tracer.ts'
import { GatewayError } from '../../core/errors.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { RawJson } from '../../core/request/json/written-json.ts'
import type { CallReceiver, CancelReason } from '../../core/rpc/call.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { CLIENT_CLOSED_REQUEST } from '../client/client-closed-request.ts'
import { BodyStream } from '../client/streams/body-stream.ts'
import { type CallScope, Context } from '../context.ts'
import { beginCall, carrySpan, endCall } from '../tracing/call-span.ts'
import type { Traces } from '../tracing/traces.ts'
import type { ServedEndpoint } from './served-endpoint.ts'
import { describeThrown, toTypedError } from './thrown-error.ts'

/** A call over any transport: an `IncomingCall`, or a call within this process whose bodies may be values. */
export interface ServableCall {
  readonly service: string
  readonly metadata: string
  readonly timeoutMs: number
  readonly body: unknown
  readonly stream: boolean
  readonly more: boolean
  receiver: CallReceiver
  reply(metadata: string, body: unknown): void
  fail(error: GatewayError): void
  start(metadata: string): void
  sendData(body: unknown): boolean
  endData(): void
  consumed(bytes: number): void
}

/** Callbacks of a served call. */
export interface CallTracker {
  readonly log: PluginLog
  /** Creates spans of calls. @default none */
  readonly traces?: Traces
  /** Called once with `code`: 200, or the status of the error. */
  readonly onSettled: (call: ServedCall, code: number) => void
}

const PROTOBUF_REPLY = 'content-type: application/protobuf\r\n'
const TIMEOUT = 408

/**
 * A call in progress: decodes the request, runs the handler, and responds.
 *
 * For a unary endpoint with a synchronous handler, all steps are synchronous.
 */
export class ServedCall implements CallReceiver, CallScope {
  readonly startedMs: number
  readonly metadata: string
  readonly #call: ServableCall
  readonly #endpoint: ServedEndpoint
  readonly #memory: CallTracker
  /** True if bodies are values owned by the recipient. */
  readonly #isLocal: boolean
  #isProtobuf = false
  #isSettled = false
  /** True once the response stream has started. */
  #started = false
  /** True if the first body follows separately. */
  #awaitsBody = false
  #controller: AbortController | undefined = undefined
  #cancelled: CancelReason | undefined = undefined
  #requests: BodyStream | undefined = undefined
  #responses: Iterator<unknown> | AsyncIterator<unknown> | undefined = undefined
  #onCredit: (() => void) | undefined = undefined
  #span: Span | undefined = undefined

  /**
   * @param isLocal bodies are values from this process, exchanged as copies of JSON values.
   * @param metadata replaces the metadata of the call.
   */
  constructor(
    call: ServableCall,
    endpoint: ServedEndpoint,
    memory: CallTracker,
    startedMs: number,
    isLocal = false,
    metadata: string = call.metadata,
  ) {
    this.startedMs = startedMs
    this.metadata = metadata
    this.#call = call
    this.#endpoint = endpoint
    this.#memory = memory
    this.#isLocal = isLocal
  }

  /** Service name used by the caller, which may include a namespace. */
  get service(): string {
    return this.#call.service
  }

  get endpoint(): string {
    return this.#endpoint.name
  }

  /** `<service>.<Handler>.<Method>` */
  get fullName(): string {
    return this.#endpoint.fullName
  }

  get log(): PluginLog {
    return this.#memory.log
  }

  get traceId(): string | undefined {
    return this.#span?.traceId
  }

  get repeatable(): boolean {
    return this.#endpoint.idempotent
  }

  get expiresMs(): number {
    const { timeoutMs } = this.#call
    return timeoutMs === 0 ? Number.POSITIVE_INFINITY : this.startedMs + timeoutMs
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#cancelled !== undefined) this.#controller.abort(toReason(this.#cancelled))
    }
    return this.#controller.signal
  }

  start(): void {
    const { kind, name } = this.#endpoint
    if (kind !== 'server' && kind !== 'both')
      throw new TypeError(`${name} does not stream its response`)
    if (this.#isSettled || this.#started) return
    this.#started = true
    this.#call.start(this.#isProtobuf ? PROTOBUF_REPLY : '')
  }

  /** Starts the call. Never throws. */
  serve(): void {
    const call = this.#call
    const { kind, name } = this.#endpoint
    call.receiver = this
    const { traces } = this.#memory
    if (traces?.tracer !== undefined)
      this.#span = beginCall(traces.tracer, 'server', this, traces.begins, this.startedMs)
    try {
      this.#isProtobuf =
        this.metadata !== '' &&
        this.#endpoint.isProtobuf(findMetadata(this.metadata, 'content-type'), this.service)
      if ((kind === 'server' || kind === 'both') && !call.stream)
        throw new GatewayError(
          this.service,
          400,
          `${name} responds with a stream: request its path over HTTP, or use \`client.stream()\``,
        )
    } catch (error) {
      return this.#fail(error)
    }
    const isBodyMissing = call.more && this.#isEmpty(call.body)
    if (kind === 'client' || kind === 'both') {
      const requests = new BodyStream({
        decode: (body) => this.#decode(body),
        onConsumed: (bytes) => call.consumed(bytes),
      })
      this.#requests = requests
      if (!isBodyMissing) requests.push(call.body)
      if (!call.more) requests.end()
      this.#run(requests)
    } else if (isBodyMissing) this.#awaitsBody = true
    else this.#take(call.body)
  }

  onData(body: unknown): void {
    if (this.#requests !== undefined) return this.#requests.push(body)
    this.#call.consumed(body instanceof Uint8Array ? body.length : 0)
    // This is the request of a unary endpoint, sent as a stream.
    if (this.#awaitsBody) this.#take(body)
  }

  onEnd(): void {
    if (this.#requests !== undefined) this.#requests.end()
    else if (this.#awaitsBody) this.#take(this.#isLocal ? undefined : '')
  }

  onCredit(): void {
    const resume = this.#onCredit
    this.#onCredit = undefined
    resume?.()
  }

  onCancel(reason: CancelReason): void {
    if (this.#isSettled) return
    this.#cancelled = reason
    this.#end(reason === 'timeout' ? TIMEOUT : CLIENT_CLOSED_REQUEST)
    this.#requests?.fail(toReason(reason))
    this.#controller?.abort(toReason(reason))
    this.#close()
    this.onCredit()
  }

  /** Decodes the request of a unary endpoint and runs the handler. */
  #take(body: unknown): void {
    this.#awaitsBody = false
    let request: unknown
    try {
      request = this.#decode(body)
    } catch (error) {
      return this.#fail(error)
    }
    if (isPromise(request)) this.#await(request, this.#run)
    else this.#run(request)
  }

  #run(request: unknown): void {
    if (this.#isSettled) return
    const { kind, handle } = this.#endpoint
    const respond = kind === 'unary' || kind === 'client' ? this.#reply : this.#stream
    let result: unknown
    try {
      result = handle(request as never, new Context(this, this.#carried))
      if (isPromise(result)) return this.#await(result, respond)
    } catch (error) {
      return this.#fail(error)
    }
    respond.call(this, result)
  }

  /** Metadata for the handler, with the span of the call. */
  get #carried(): string {
    return this.#span === undefined ? this.metadata : carrySpan(this.metadata, this.#span)
  }

  #reply(value: unknown): void {
    if (this.#isSettled) return
    let body: unknown
    try {
      body = this.#encode(value)
    } catch (error) {
      return this.#fail(error)
    }
    if (isPromise(body)) this.#await(body, this.#send)
    else this.#send(body)
  }

  #send(body: unknown): void {
    if (this.#isSettled) return
    if (!this.#isLocal && isTooLong(body as string | Uint8Array)) {
      const detail = `response must be at most ${PAYLOAD_MAX_BYTES} bytes`
      this.#report(new RangeError(detail))
      return this.#fail(new GatewayError(this.service, 500, detail))
    }
    this.#end(200)
    this.#call.reply(this.#isProtobuf ? PROTOBUF_REPLY : '', body)
  }

  #stream(source: unknown): void {
    this.#pump(source).catch((error) => {
      this.#fail(error)
      this.#close()
    })
  }

  /** Sends the handler's messages with backpressure. */
  async #pump(source: unknown): Promise<void> {
    const call = this.#call
    const responses = toIterator(source)
    this.#responses = responses
    if (this.#isSettled) return this.#close()
    if (this.#isProtobuf) this.start()
    for (;;) {
      const pending = responses.next()
      const step = isPromise(pending) ? await pending : pending
      if (this.#isSettled) return
      if (typeof step !== 'object' || step === null)
        throw new TypeError(`an iterator must return { done, value }, got ${typeof step}`)
      if (step.done === true) break
      const encoded = this.#encode(step.value)
      const body = isPromise(encoded) ? await encoded : encoded
      while (!this.#isSettled && !call.sendData(body)) {
        await new Promise<void>((resolve) => {
          this.#onCredit = resolve
        })
      }
      if (this.#isSettled) return
      this.#started = true
    }
    this.#end(200)
    call.endData()
  }

  #isEmpty(body: unknown): boolean {
    return this.#isLocal ? body === undefined : (body as string | Uint8Array).length === 0
  }

  #decode(body: unknown): unknown {
    if (body instanceof RawJson) return this.#endpoint.decode(body.text, false, this.service)
    if (this.#isLocal) return this.#endpoint.admit(body === undefined ? {} : body, this.service)
    return this.#endpoint.decode(body as string | Uint8Array, this.#isProtobuf, this.service)
  }

  #encode(value: unknown): unknown {
    if (this.#isLocal) return this.#endpoint.release(value)
    return this.#endpoint.encode(value, this.#isProtobuf)
  }

  /** Ends the handler's iterator, which runs its `finally`. */
  #close(): void {
    const responses = this.#responses
    this.#responses = undefined
    try {
      const closed: unknown = responses?.return?.()
      if (isPromise(closed)) closed.then(undefined, () => {})
    } catch {
      // The call has ended, so errors are ignored.
    }
  }

  #await(pending: Promise<unknown>, onValue: (value: unknown) => void): void {
    pending.then(
      (value) => onValue.call(this, value),
      (error) => this.#fail(error),
    )
  }

  /** Responds with an error. Untyped errors are only logged. */
  #fail(thrown: unknown): void {
    if (this.#isSettled) return
    const typed = toTypedError(thrown)
    const error = typed ?? GatewayError.from({ cause: thrown }, this.service)
    this.#end(error.code)
    this.#call.fail(error)
    if (typed === undefined) this.#report(thrown)
  }

  #report(thrown: unknown): void {
    const id = findMetadata(this.metadata, 'x-request-id')
    try {
      this.log.error(
        {
          err: thrown,
          endpoint: this.endpoint,
          ...(id === undefined ? {} : { id }),
          ...(this.#span === undefined ? {} : { trace: this.#span.traceId }),
        },
        describeThrown(thrown),
      )
    } catch {
      // A custom log may throw. The call has ended, and the error would be uncaught.
    }
  }

  #end(code: number): void {
    this.#isSettled = true
    if (this.#span !== undefined) endCall(this.#span, 'server', code)
    this.#memory.onSettled(this, code)
  }
}

/** True if the body exceeds the maximum. UTF-8 needs at most three bytes per UTF-16 code unit. */
function isTooLong(body: string | Uint8Array): boolean {
  return body.length * 3 > PAYLOAD_MAX_BYTES && Buffer.byteLength(body) > PAYLOAD_MAX_BYTES
}

function toIterator(source: unknown): Iterator<unknown> | AsyncIterator<unknown> {
  const iterable = source as Partial<AsyncIterable<unknown> & Iterable<unknown>> | undefined | null
  const iterator = iterable?.[Symbol.asyncIterator]?.() ?? iterable?.[Symbol.iterator]?.()
  if (iterator === undefined)
    throw new TypeError(`the handler of a stream must return an iterable, got ${typeof source}`)
  return iterator
}

function toReason(reason: CancelReason): DOMException {
  return reason === 'timeout'
    ? new DOMException('the deadline of the call has expired', 'TimeoutError')
    : new DOMException('the call was cancelled', 'AbortError')
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return (
    value instanceof Promise || typeof (value as PromiseLike<T> | undefined)?.then === 'function'
  )
}

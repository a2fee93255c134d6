import {
  type CallWindows,
  consumeBody,
  openWindows,
  receiveBody,
  receiveCredit,
} from '../../core/rpc/ws/flow-control.ts'
import { frameCost, PAYLOAD_MAX_BYTES, type ProtocolError } from '../../core/rpc/ws/frames.ts'
import { CallError, type Fields } from './call-error.ts'
import { type Bytes, formatCancel, formatCredit, formatData, formatEnd } from './frames.ts'

/** Connection interface used by a call. */
export interface Carrier {
  readonly post: (frame: Bytes) => void
  /** Called when the call has ended. */
  readonly forget: (id: number) => void
}

/** A call on a connection, with its flow-control windows and received bodies. */
export class SentCall implements CallWindows {
  sendWindow = 0
  receiveWindow = 0
  consumedBytes = 0
  readonly id: number
  readonly service: string
  /** True if the response is a stream. */
  readonly streams: boolean
  /** Metadata of the response. */
  fields: Fields = []
  /** True if the response is complete or has failed. */
  isSettled = false
  error: CallError | undefined
  /** True if the response stream has started, after which a REPLY is a protocol error. */
  started = false
  readonly #carrier: Carrier
  #sends: boolean
  readonly #bodies: Bytes[] = []
  readonly #waiting = new Set<() => void>()
  #deadline: ReturnType<typeof setTimeout> | undefined

  constructor(
    carrier: Carrier,
    id: number,
    {
      service,
      streams,
      sends,
      timeoutMs,
    }: {
      readonly service: string
      readonly streams: boolean
      readonly sends: boolean
      readonly timeoutMs: number
    },
  ) {
    openWindows(this)
    this.#carrier = carrier
    this.id = id
    this.service = service
    this.streams = streams
    this.#sends = sends
    if (timeoutMs > 0)
      this.#deadline = setTimeout(
        () => this.cancel(new CallError(service, 408, `no response within ${timeoutMs} ms`)),
        timeoutMs,
      )
  }

  /**
   * Sends a body as soon as there is credit.
   *
   * @throws {CallError} if the call ends before that; 413 for a body beyond the limit, which does not end the call.
   */
  async send(body: Bytes): Promise<void> {
    if (body.length > PAYLOAD_MAX_BYTES) {
      const detail = `message must be at most ${PAYLOAD_MAX_BYTES} bytes, got ${body.length}`
      throw new CallError(this.service, 413, detail)
    }
    while (this.#sends && !this.isSettled && this.sendWindow <= 0) await this.#change()
    if (this.error !== undefined) throw this.error
    if (this.isSettled || !this.#sends) throw new CallError(this.service, 409, 'the call has ended')
    this.sendWindow -= frameCost(body.length)
    this.#carrier.post(formatData(this.id, body))
  }

  /** Ends the request stream. */
  end(): void {
    if (!this.#sends || this.isSettled) return
    this.#sends = false
    this.#carrier.post(formatEnd(this.id))
    this.#wake()
  }

  /** Ends both directions. Pending reads and sends fail with the error. */
  cancel(error: CallError): void {
    if (this.isSettled) return
    this.#carrier.post(formatCancel(this.id))
    this.fail(error)
  }

  /**
   * Reads the next body and returns its credit. Returns undefined at the end of the stream.
   *
   * @throws {CallError} if the call has failed.
   */
  async next(): Promise<Bytes | undefined> {
    for (;;) {
      const body = this.#bodies.shift()
      if (body !== undefined) {
        this.#consume(body.length)
        return body
      }
      if (this.error !== undefined) throw this.error
      if (this.isSettled) return undefined
      await this.#change()
    }
  }

  /** Settles when the response has started. @throws {CallError} if the call fails before that. */
  async begun(): Promise<void> {
    while (!this.started && !this.isSettled) await this.#change()
    if (!this.started && this.error !== undefined) throw this.error
  }

  /** Marks the start of the response stream. */
  start(): void {
    if (this.started) return
    this.started = true
    this.#wake()
  }

  /** Receives a body of a stream. Returns an error if the protocol is violated. */
  receiveData(body: Bytes): ProtocolError | undefined {
    const breach = receiveBody(this, body.length)
    if (breach !== undefined) return breach
    this.#bodies.push(body)
    this.#wake()
    return undefined
  }

  /** Receives credit for sending. Returns an error if the protocol is violated. */
  receiveCredit(bytes: number): ProtocolError | undefined {
    const breach = receiveCredit(this, bytes)
    if (breach === undefined) this.#wake()
    return breach
  }

  /** Receives the body of a unary response. */
  receiveReply(body: Bytes): void {
    this.#bodies.push(body)
    this.finish()
  }

  /** Ends the call. */
  finish(): void {
    if (this.isSettled) return
    this.isSettled = true
    clearTimeout(this.#deadline)
    this.#carrier.forget(this.id)
    this.#wake()
  }

  /** Fails the call. Bodies received earlier can still be read. */
  fail(error: CallError): void {
    if (this.isSettled) return
    this.error = error
    this.finish()
  }

  #consume(bytes: number): void {
    const credit = this.isSettled ? 0 : consumeBody(this, bytes)
    if (credit > 0) this.#carrier.post(formatCredit(this.id, credit))
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

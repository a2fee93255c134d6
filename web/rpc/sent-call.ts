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

/** What a call needs of its connection. */
export interface Carrier {
  readonly post: (frame: Bytes) => void
  /** The call is over. */
  readonly forget: (id: number) => void
}

/** One call on a connection: its two windows, and the bodies that came and were not taken yet. */
export class SentCall implements CallWindows {
  sendWindow = 0
  receiveWindow = 0
  consumedBytes = 0
  readonly id: number
  readonly service: string
  /** It takes a stream. */
  readonly streams: boolean
  /** Metadata of the answer. */
  fields: Fields = []
  /** Everything came, or nothing will. */
  over = false
  error: CallError | undefined
  /** The callee began its stream: a reply would be a breach. */
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
        () => this.cancel(new CallError(service, 408, `no answer in ${timeoutMs} ms`)),
        timeoutMs,
      )
  }

  /** Sends a body as soon as the window lets it. @throws {CallError} when the call ends before; 413 when it is too long, and the call goes on. */
  async send(body: Bytes): Promise<void> {
    if (body.length > PAYLOAD_MAX_BYTES) {
      const detail = `message must be at most ${PAYLOAD_MAX_BYTES} bytes, got ${body.length}`
      throw new CallError(this.service, 413, detail)
    }
    while (this.#sends && !this.over && this.sendWindow <= 0) await this.#change()
    if (this.error !== undefined) throw this.error
    if (this.over || !this.#sends)
      throw new CallError(this.service, 409, 'the call has ended: nothing more is sent')
    this.sendWindow -= frameCost(body.length)
    this.#carrier.post(formatData(this.id, body))
  }

  /** No more bodies are sent. */
  end(): void {
    if (!this.#sends || this.over) return
    this.#sends = false
    this.#carrier.post(formatEnd(this.id))
    this.#wake()
  }

  /** Ends both directions; who waits gets the error. */
  cancel(error: CallError): void {
    if (this.over) return
    this.#carrier.post(formatCancel(this.id))
    this.fail(error)
  }

  /** The next body; undefined: the stream has ended. One that is taken counts as consumed. @throws {CallError} when the call failed. */
  async next(): Promise<Bytes | undefined> {
    for (;;) {
      const body = this.#bodies.shift()
      if (body !== undefined) {
        this.#consume(body.length)
        return body
      }
      if (this.error !== undefined) throw this.error
      if (this.over) return undefined
      await this.#change()
    }
  }

  /** Settles once the callee has begun to answer. @throws {CallError} when the call fails before. */
  async begun(): Promise<void> {
    while (!this.started && !this.over) await this.#change()
    if (!this.started && this.error !== undefined) throw this.error
  }

  /** The callee begins its stream. */
  start(): void {
    if (this.started) return
    this.started = true
    this.#wake()
  }

  /** A body of a stream came. Returns a breach of the protocol. */
  receiveData(body: Bytes): ProtocolError | undefined {
    const breach = receiveBody(this, body.length)
    if (breach !== undefined) return breach
    this.#bodies.push(body)
    this.#wake()
    return undefined
  }

  /** More may be sent. Returns a breach of the protocol. */
  receiveCredit(bytes: number): ProtocolError | undefined {
    const breach = receiveCredit(this, bytes)
    if (breach === undefined) this.#wake()
    return breach
  }

  /** The one body of a reply, behind which nothing comes. */
  receiveReply(body: Bytes): void {
    this.#bodies.push(body)
    this.finish()
  }

  /** Nothing more comes, and nothing is sent. */
  finish(): void {
    if (this.over) return
    this.over = true
    clearTimeout(this.#deadline)
    this.#carrier.forget(this.id)
    this.#wake()
  }

  /** What came before is still there for who reads. */
  fail(error: CallError): void {
    if (this.over) return
    this.error = error
    this.finish()
  }

  #consume(bytes: number): void {
    const credit = this.over ? 0 : consumeBody(this, bytes)
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

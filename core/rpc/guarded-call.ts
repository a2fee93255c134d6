import type { GatewayError } from '../errors.ts'
import { type CallReceiver, type CancelReason, type IncomingCall, NOOP_RECEIVER } from './call.ts'

/**
 * A call between its caller and whoever serves it, kept apart until it is {@link release}d, or ended by somebody else.
 *
 * What comes before it is released waits, no more than the windows of the call let through.
 */
export class GuardedCall implements IncomingCall, CallReceiver {
  readonly body: Uint8Array
  timeoutMs: number
  receiver: CallReceiver = NOOP_RECEIVER
  /** Called once it is over. */
  onSettled: () => void = () => {}
  readonly #call: IncomingCall
  readonly #heldMs = performance.now()
  /** Undefined: it is released. */
  #waiting: Uint8Array[] | undefined = []
  #ended = false

  constructor(call: IncomingCall) {
    this.#call = call
    this.timeoutMs = call.timeoutMs
    // Valid only while it was dispatched.
    this.body = Buffer.from(call.body)
    call.receiver = this
  }

  /** Has it served; what waits follows. Once; nothing is done for a call that is over. */
  release(serve: (call: IncomingCall) => void): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined || this.over) return
    if (this.timeoutMs > 0)
      this.timeoutMs = Math.max(1, Math.ceil(this.timeoutMs - (performance.now() - this.#heldMs)))
    serve(this)
    for (const body of waiting) if (!this.over) this.receiver.onData(body)
    if (this.#ended && !this.over) this.receiver.onEnd()
  }

  /** Answers it with an error, and tells whoever serves it that nobody waits any more. */
  end(reason: GatewayError): void {
    if (this.over) return
    this.fail(reason)
    this.receiver.onCancel('cancel')
  }

  get service(): string {
    return this.#call.service
  }

  get endpoint(): string {
    return this.#call.endpoint
  }

  get metadata(): string {
    return this.#call.metadata
  }

  get stream(): boolean {
    return this.#call.stream
  }

  get more(): boolean {
    return this.#call.more
  }

  get over(): boolean {
    return this.#call.over
  }

  // To the caller

  reply(metadata: string, body: string | Uint8Array): void {
    this.#call.reply(metadata, body)
    this.onSettled()
  }

  fail(error: GatewayError): void {
    this.#call.fail(error)
    this.onSettled()
  }

  start(metadata: string): void {
    this.#call.start(metadata)
  }

  sendData(body: string | Uint8Array): boolean {
    return this.#call.sendData(body)
  }

  endData(): void {
    this.#call.endData()
    this.onSettled()
  }

  consumed(bytes: number): void {
    this.#call.consumed(bytes)
  }

  // From the caller

  get repeatable(): boolean {
    return this.receiver.repeatable !== false
  }

  onData(body: Uint8Array): void {
    if (this.#waiting === undefined) this.receiver.onData(body)
    else this.#waiting.push(Buffer.from(body))
  }

  onEnd(): void {
    if (this.#waiting === undefined) this.receiver.onEnd()
    else this.#ended = true
  }

  onCancel(reason: CancelReason): void {
    this.receiver.onCancel(reason)
    this.onSettled()
  }

  onCredit(): void {
    this.receiver.onCredit()
  }
}

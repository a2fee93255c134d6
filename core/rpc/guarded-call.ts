import type { GatewayError } from '../errors.ts'
import { type CallReceiver, type CancelReason, type IncomingCall, NOOP_RECEIVER } from './call.ts'

/**
 * An incoming call that is paused until {@link release} is called, for example while the caller is authorized.
 *
 * Bodies that arrive earlier are buffered, bounded by the flow-control window of the call.
 */
export class GuardedCall implements IncomingCall, CallReceiver {
  readonly body: Uint8Array
  timeoutMs: number
  receiver: CallReceiver = NOOP_RECEIVER
  onSettled: () => void = () => {}
  readonly #call: IncomingCall
  readonly #pausedMs = performance.now()
  /** Buffered bodies; undefined once released. */
  #waiting: Uint8Array[] | undefined = []
  #ended = false

  constructor(call: IncomingCall) {
    this.#call = call
    this.timeoutMs = call.timeoutMs
    // The original is only valid during dispatch.
    this.body = Buffer.from(call.body)
    call.receiver = this
  }

  /** Serves the call, starting with the buffered bodies. Must be called once. No-op after the end of the call. */
  release(serve: (call: IncomingCall) => void): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined || this.isSettled) return
    if (this.timeoutMs > 0)
      this.timeoutMs = Math.max(1, Math.ceil(this.timeoutMs - (performance.now() - this.#pausedMs)))
    serve(this)
    for (const body of waiting) if (!this.isSettled) this.receiver.onData(body)
    if (this.#ended && !this.isSettled) this.receiver.onEnd()
  }

  /** Ends the call with an error and cancels its handler. */
  end(reason: GatewayError): void {
    if (this.isSettled) return
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

  get isSettled(): boolean {
    return this.#call.isSettled
  }

  // Towards the caller

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

  // Events from the caller

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

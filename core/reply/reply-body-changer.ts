import type { ReportFault } from '../chain.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { replyMemory } from '../limits/memory-budget.ts'
import { findReplyChange, type ReplyChange } from './reply-change.ts'

/** Sends the response of a chain with `onReplyBody` hooks. A body that they change is buffered and sent as a whole. */
export class ReplyBodyChanger {
  readonly #x: Exchange
  readonly #onFault: ReportFault | undefined
  /** Undefined without changes, or before the hooks have run. */
  #change: ReplyChange | undefined = undefined
  /** Whether a streamed body is being buffered. */
  #isCollecting = false
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0

  constructor(x: Exchange, onFault: ReportFault | undefined) {
    this.#x = x
    this.#onFault = onFault
  }

  /** Like {@link Exchange.send}. */
  send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    if (this.#decide(status, headers)) this.#sendChanged(body)
  }

  /** Like {@link Exchange.start}. */
  start(status: number, headers: HeaderList, length: number): void {
    const x = this.#x
    if (x.answered || !this.#decide(status, headers)) return
    const change = this.#change
    if (change === undefined) return x.start(status, headers, length)
    // The response has no body, and the length of the changed body is unknown.
    if (x.method === 'HEAD' || status === 204 || status === 205 || status === 304)
      return x.start(status, headers, -1)
    if (length > change.maxBytes) return this.#reject(change.tooLong(x.route?.service))
    this.#isCollecting = true
    x.answered = true
  }

  /** Buffers a chunk of a started response. */
  collect(chunk: Uint8Array): true {
    const x = this.#x
    if (!this.#isCollecting || x.finished) return true
    const error = this.#change!.add(chunk, x.route?.service)
    if (error === undefined) {
      replyMemory.usedBytes += chunk.length
      this.#waitingBytes += chunk.length
    } else this.#reject(error)
    return true
  }

  /** Changes and sends the buffered body. */
  end(): void {
    if (!this.#isCollecting || this.#x.finished) return
    this.stop()
    this.#sendChanged(this.#change!.received)
  }

  /** Stops buffering, so that the exchange can send another response: nothing of this one was sent. */
  stop(): void {
    if (!this.#isCollecting) return
    this.#isCollecting = false
    this.#x.answered = false
    this.release()
  }

  /** Ends the use of `replyMemory`. */
  release(): void {
    replyMemory.usedBytes -= this.#waitingBytes
    this.#waitingBytes = 0
  }

  /** Runs the `onReplyBody` hooks. Returns false if one failed and its error was sent. */
  #decide(status: number, headers: HeaderList): boolean {
    const x = this.#x
    x.status = status
    x.replyHeaders = headers
    try {
      this.#change = findReplyChange(x, this.#onFault)
      return true
    } catch (error) {
      this.#reject(error)
      return false
    }
  }

  #sendChanged(body: string | Uint8Array): void {
    const x = this.#x
    let changed = body
    try {
      changed = this.#change?.apply(x, body, this.#onFault) ?? body
    } catch (error) {
      return this.#reject(error)
    }
    x.send(x.status, x.replyHeaders, changed)
  }

  /** Sends an error instead of a response whose body cannot be changed. */
  #reject(error: unknown): void {
    const x = this.#x
    const failure = GatewayError.from(error)
    x.failure = failure.message
    x.giveUp(failure)
  }
}

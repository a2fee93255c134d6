import type { ReportFault } from '../chain.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { mayWait, rejectResponse, replyMemory } from '../limits/memory-budget.ts'
import { type BodyOutput, ReplyBodyStream } from './reply-body-stream.ts'
import {
  createBodyStreams,
  findReplyChanges,
  type ReplyChanges,
  toHookFailure,
} from './reply-change.ts'

/** Sends the response of a chain with `onReplyBody` hooks. */
export class ReplyBodyChanger {
  /** The body while it is sent through streams of plugins. */
  stream: ReplyBodyStream | undefined = undefined
  readonly #x: Exchange
  readonly #output: Omit<BodyOutput, 'onError'>
  readonly #onFault: ReportFault | undefined
  /** Undefined without changes, or before the hooks have run. */
  #changes: ReplyChanges | undefined = undefined
  /** Whether a streamed body is being buffered. */
  #isCollecting = false
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0

  constructor(x: Exchange, output: Omit<BodyOutput, 'onError'>, onFault: ReportFault | undefined) {
    this.#x = x
    this.#output = output
    this.#onFault = onFault
  }

  /** Like {@link Exchange.send}. */
  send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    if (this.#decide(status, headers, Buffer.byteLength(body))) this.#sendChanged(body)
  }

  /** Like {@link Exchange.start}. */
  start(status: number, headers: HeaderList, length: number): void {
    const x = this.#x
    if (x.answered || !this.#decide(status, headers, length)) return
    if (this.#changes === undefined) return x.start(status, headers, length)
    // The response has no body, and the length of the changed body is unknown.
    if (isBodyless(x, status)) return x.start(status, headers, -1)
    const { buffered } = this.#changes
    if (buffered === undefined) return this.#startStream()
    if (length > buffered.maxBytes) return this.#reject(buffered.tooLong(x.route?.service))
    this.#isCollecting = true
    x.answered = true
  }

  /** Buffers a chunk of a started response. */
  collect(chunk: Uint8Array): true {
    const x = this.#x
    if (!this.#isCollecting || x.finished) return true
    const error = this.#changes!.buffered!.add(chunk, x.route?.service)
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
    this.#sendChanged(this.#changes!.buffered!.received)
  }

  /** Discards the body, so that the exchange can send another response if nothing of this one was sent. */
  stop(): void {
    this.stream?.close()
    this.stream = undefined
    if (!this.#isCollecting) return
    this.#isCollecting = false
    this.#x.answered = false
    this.release()
  }

  /** Ends the use of `replyMemory`. */
  release(): void {
    this.stream?.close()
    replyMemory.usedBytes -= this.#waitingBytes
    this.#waitingBytes = 0
  }

  /** Runs the `onReplyBody` hooks. Returns false if one failed and its error was sent. */
  #decide(status: number, headers: HeaderList, length: number): boolean {
    const x = this.#x
    x.status = status
    x.replyHeaders = headers
    try {
      this.#changes = findReplyChanges(x, length, this.#onFault)
      return true
    } catch (error) {
      this.#reject(error)
      return false
    }
  }

  #sendChanged(body: string | Uint8Array): void {
    const x = this.#x
    const { buffered, streamed = [] } = this.#changes ?? {}
    let changed = body
    try {
      changed = buffered?.apply(x, body, this.#onFault) ?? body
    } catch (error) {
      return this.#reject(error)
    }
    if (streamed.length === 0) return x.send(x.status, x.replyHeaders, changed)
    if (isBodyless(x, x.status)) {
      x.start(x.status, x.replyHeaders, -1)
      return x.end()
    }
    if (!mayWait(changed)) return this.#reject(rejectResponse(x.route?.service ?? ''))
    this.#startStream()
    if (this.stream === undefined) return
    x.write(typeof changed === 'string' ? Buffer.from(changed) : changed)
    x.end()
  }

  /** Begins a response whose body passes through streams. */
  #startStream(): void {
    const x = this.#x
    const { streamed } = this.#changes!
    try {
      const streams = createBodyStreams(x, streamed, this.#onFault)
      this.stream = new ReplyBodyStream(streams, {
        ...this.#output,
        onError: (error, position) =>
          this.#reject(toHookFailure(x, streamed[position]!.index, error, this.#onFault)),
      })
    } catch (error) {
      return this.#reject(error)
    }
    x.start(x.status, x.replyHeaders, -1)
    if (!x.streaming) this.stop()
  }

  /** Sends an error instead of a response whose body cannot be changed. */
  #reject(error: unknown): void {
    const x = this.#x
    const failure = GatewayError.from(error)
    x.failure = failure.message
    x.abortWith(failure)
  }
}

function isBodyless({ method }: Exchange, status: number): boolean {
  return method === 'HEAD' || status === 204 || status === 205 || status === 304
}

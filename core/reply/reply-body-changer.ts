import type { ReportFault } from '../chain.ts'
import { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { mayWait, rejectResponse, replyMemory } from '../limits/memory-budget.ts'
import type { ResponseObserver } from './complete-response.ts'
import { toHookFailure } from './hook-failure.ts'
import { type BodyOutput, ReplyBodyStream } from './reply-body-stream.ts'
import { createBodyStreams, findReplyChanges, type ReplyChanges } from './reply-change.ts'
import { findResponseActions, type ResponseActions } from './response-action.ts'

const NO_ACTIONS: ResponseActions = { observer: undefined, replacement: undefined }

export interface ReplyOutput extends Omit<BodyOutput, 'onError'> {
  /** Cancels the response of the backend, which was replaced. */
  readonly onReplaced: () => void
}

/** Sends the response of a chain with `onResponse` or `onReplyBody` hooks. */
export class ReplyBodyChanger {
  /** The body while it is sent through streams of plugins. */
  stream: ReplyBodyStream | undefined = undefined
  readonly #x: Exchange
  readonly #output: ReplyOutput
  readonly #onFault: ReportFault | undefined
  /** Undefined without changes, or before the hooks have run. */
  #changes: ReplyChanges | undefined = undefined
  /** Whether a streamed body is being buffered. */
  #isCollecting = false
  /** Bytes counted in `replyMemory`. */
  #waitingBytes = 0
  /** Receives the original body until its end. */
  #observer: ResponseObserver | undefined = undefined

  constructor(x: Exchange, output: ReplyOutput, onFault: ReportFault | undefined) {
    this.#x = x
    this.#output = output
    this.#onFault = onFault
  }

  /** Like {@link Exchange.send}. */
  send(status: number, headers: HeaderList, body: string | Uint8Array): void {
    const actions = this.#findActions(status, headers, Buffer.byteLength(body))
    if (actions === undefined) return
    this.#sendComplete(actions.replacement?.body ?? body)
  }

  #sendComplete(body: string | Uint8Array): void {
    if (this.#observer !== undefined) {
      this.observe(typeof body === 'string' ? Buffer.from(body) : body)
      this.complete()
    }
    if (this.#decide(Buffer.byteLength(body))) this.#sendChanged(body)
  }

  /** Like {@link Exchange.start}. */
  start(status: number, headers: HeaderList, length: number): void {
    const x = this.#x
    if (x.answered) return
    const actions = this.#findActions(status, headers, length)
    if (actions === undefined) return
    if (actions.replacement !== undefined) {
      this.#output.onReplaced()
      return this.#sendComplete(actions.replacement.body)
    }
    if (x.method !== 'HEAD' && isBodyless(x, status)) this.complete()
    if (!this.#decide(length)) return
    if (this.#changes === undefined) return x.start(status, headers, length)
    // The response has no body, and the length of the changed body is unknown.
    if (isBodyless(x, status)) return x.start(status, headers, -1)
    const { buffered } = this.#changes
    if (buffered === undefined) return this.#startStream()
    if (length > buffered.maxBytes) return this.#reject(buffered.tooLong(x.route?.service))
    this.#isCollecting = true
    x.answered = true
  }

  /** Passes a chunk of the original body to the observer. */
  observe(chunk: Uint8Array): void {
    this.#observer?.onChunk(chunk)
  }

  /** Reports the end of the original body to the observer. */
  complete(isComplete = true): void {
    const observer = this.#observer
    this.#observer = undefined
    observer?.onEnd(isComplete)
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
    this.complete(false)
    this.stream?.close()
    this.stream = undefined
    if (!this.#isCollecting) return
    this.#isCollecting = false
    this.#x.answered = false
    this.release()
  }

  /** Ends the use of `replyMemory`. */
  release(): void {
    this.complete(false)
    this.stream?.close()
    replyMemory.usedBytes -= this.#waitingBytes
    this.#waitingBytes = 0
  }

  /** Runs the `onResponse` hooks. Returns undefined if one failed and its error was sent. */
  #findActions(status: number, headers: HeaderList, length: number): ResponseActions | undefined {
    const x = this.#x
    x.status = status
    x.replyHeaders = headers
    if (x.chain.onResponse.length === 0) return NO_ACTIONS
    try {
      const actions = findResponseActions(x, length, this.#onFault)
      this.#observer = actions.observer
      return actions
    } catch (error) {
      this.#reject(error)
      return undefined
    }
  }

  /** Runs the `onReplyBody` hooks. Returns false if one failed and its error was sent. */
  #decide(length: number): boolean {
    const x = this.#x
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
        onError: (error, position) => {
          const stage = x.chain.stages.onReplyBody[streamed[position]!.index]
          this.#reject(toHookFailure(x, stage, error, this.#onFault))
        },
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

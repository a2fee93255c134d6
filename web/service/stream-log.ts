import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { CallError } from '../rpc/call-error.ts'
import type { Stream } from '../rpc/caller.ts'
import { Recent } from '../state/ring-buffer.ts'

/** A stream message with its metadata. */
export interface Message {
  /** Sequence number, starting at 1. */
  readonly number: number
  readonly direction: 'sent' | 'received'
  /** Unix time in milliseconds. */
  readonly at: number
  readonly body: unknown
  /** Size of the message in bytes. */
  readonly bytes: number
}

/** State of a stream. `opening` waits for a connection; `half` is closed for sending. */
export type StreamState =
  | { readonly state: 'idle' | 'opening' | 'open' | 'half' | 'ended' | 'stopped' }
  | { readonly state: 'failed'; readonly error: CallError }

const MAX_MESSAGES = 1000
const MAX_BYTES = 32 * 1024 * 1024

/** A stream with its most recent messages. Updates at most once per frame. */
export class StreamLog {
  readonly #messages: Signal<readonly Message[]> = signal([])
  readonly #state: Signal<StreamState> = signal({ state: 'idle' })
  #stream: Stream<unknown> | undefined
  readonly #recent = new Recent<Message>({
    count: MAX_MESSAGES,
    bytes: MAX_BYTES,
    sizeOf: ({ bytes }) => bytes,
  })
  #isScheduled = false
  #count = 0

  get messages(): ReadonlySignal<readonly Message[]> {
    return this.#messages
  }

  get state(): ReadonlySignal<StreamState> {
    return this.#state
  }

  get isOpen(): boolean {
    return this.#stream !== undefined
  }

  /** Replaces the current stream and reads it to the end. @returns the error if it failed. */
  async follow(stream: Stream<unknown>, first: object | undefined): Promise<CallError | undefined> {
    this.stop()
    this.clear()
    this.#stream = stream
    this.#state.value = { state: 'opening' }
    stream.sent.then(() => this.#open(stream, first), ignore)
    let end: StreamState = { state: 'ended' }
    try {
      for await (const body of stream) {
        if (this.#stream !== stream) break
        this.#add('received', body, stream.lastBytes())
      }
    } catch (thrown) {
      end = { state: 'failed', error: CallError.from(thrown) }
    }
    if (this.#stream === stream) {
      this.#stream = undefined
      this.#flush()
      this.#state.value = end
    }
    return end.state === 'failed' ? end.error : undefined
  }

  /** Sends a message. If sending fails, the stream ends with that error. */
  send(message: object): void {
    this.#stream?.send(message).then(
      () => this.#add('sent', message, measure(message)),
      () => {},
    )
  }

  /** Closes the stream for sending. */
  end(): void {
    this.#stream?.end()
    if (this.isOpen) this.#state.value = { state: 'half' }
  }

  /** Cancels the stream. */
  stop(): void {
    if (this.#stream === undefined) return
    this.#stream.cancel()
    this.#stream = undefined
    this.#flush()
    this.#state.value = { state: 'stopped' }
  }

  clear(): void {
    this.#recent.clear()
    this.#count = 0
    this.#flush()
  }

  #open(stream: Stream<unknown>, first: object | undefined): void {
    if (this.#stream !== stream) return
    if (this.#state.value.state === 'opening') this.#state.value = { state: 'open' }
    if (first !== undefined) this.#add('sent', first, measure(first))
  }

  #add(direction: Message['direction'], body: unknown, bytes: number): void {
    this.#count++
    this.#recent.push({ number: this.#count, direction, at: Date.now(), body, bytes })
    if (this.#isScheduled) return
    this.#isScheduled = true
    requestAnimationFrame(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    this.#messages.value = this.#recent.all
  }
}

function measure(message: object): number {
  return JSON.stringify(message).length
}

/** Errors are handled by the reader of the stream. */
function ignore(): void {}

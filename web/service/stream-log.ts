import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { CallError } from '../rpc/call-error.ts'
import type { Stream } from '../rpc/caller.ts'

/** A message of a stream, as it is shown. */
export interface Message {
  /** Counts from 1. */
  readonly number: number
  readonly direction: 'sent' | 'received'
  /** Milliseconds since 1970. */
  readonly at: number
  readonly body: unknown
}

/** How a stream goes; `half`: no more is sent. */
export type StreamState =
  | { readonly state: 'idle' | 'open' | 'half' | 'ended' | 'stopped' }
  | { readonly state: 'failed'; readonly error: CallError }

/** Messages that are kept: older ones are forgotten. */
const MAX_MESSAGES = 1000

/** A stream and its last messages, told no more than once a frame however many come. */
export class StreamLog {
  readonly #messages: Signal<readonly Message[]> = signal([])
  readonly #state: Signal<StreamState> = signal({ state: 'idle' })
  #stream: Stream<unknown> | undefined
  #waiting: Message[] = []
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

  /** Reads a stream to its end. What was there before is forgotten. @returns why it failed. */
  async follow(stream: Stream<unknown>, first: object | undefined): Promise<CallError | undefined> {
    this.stop()
    this.clear()
    this.#stream = stream
    this.#state.value = { state: 'open' }
    if (first !== undefined) this.#add('sent', first)
    let end: StreamState = { state: 'ended' }
    try {
      for await (const body of stream) {
        if (this.#stream !== stream) break
        this.#add('received', body)
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

  /** One more message. One that cannot be sent ends the stream, which says why. */
  send(message: object): void {
    this.#stream?.send(message).then(
      () => this.#add('sent', message),
      () => {},
    )
  }

  /** No more messages are sent; those of the service go on. */
  end(): void {
    this.#stream?.end()
    if (this.isOpen) this.#state.value = { state: 'half' }
  }

  /** Gives the stream up. */
  stop(): void {
    if (this.#stream === undefined) return
    this.#stream.cancel()
    this.#stream = undefined
    this.#flush()
    this.#state.value = { state: 'stopped' }
  }

  clear(): void {
    this.#waiting = []
    this.#count = 0
    this.#messages.value = []
  }

  #add(direction: Message['direction'], body: unknown): void {
    this.#count++
    this.#waiting.push({ number: this.#count, direction, at: Date.now(), body })
    if (this.#waiting.length > MAX_MESSAGES) this.#waiting.shift()
    if (this.#waiting.length === 1) requestAnimationFrame(() => this.#flush())
  }

  #flush(): void {
    if (this.#waiting.length === 0) return
    this.#messages.value = [...this.#messages.peek(), ...this.#waiting].slice(-MAX_MESSAGES)
    this.#waiting = []
  }
}

import type { Span } from '../../core/contracts/tracer.ts'
import { pickTraceHeaders } from '../../core/tracing/trace-headers.ts'
import { toJsonText } from '../codec/json-text.ts'
import { toRawBytes } from '../codec/raw-bytes.ts'
import { type Context, createContext } from '../context.ts'
import { carryFields } from '../tracing/message-span.ts'

/** What spans call the system events are of. */
export const EVENTS = 'mx.events'

/** An event of a topic (specification: Event). */
export interface PlatformEvent {
  /** A UUID. */
  readonly id: string
  readonly topic: string
  /** Its place in the topic: the first has 1, and none is left out. */
  readonly sequence: number
  /** When it happened, says who published it. */
  readonly timestamp: Date
  readonly metadata: Readonly<Record<string, string>>
  readonly payload: Uint8Array
  /** For calls that are made for it: `{ context: event.context }` goes on with the trace it was published in. */
  readonly context: Context
  /** What the payload says as JSON, as `JSON.parse` reads it: integers beyond 2^53 are exact in {@link payload} only. @throws {SyntaxError} when it is none. */
  unmarshal<T = unknown>(): T
}

/** An event that is consumed. */
export interface ConsumedEvent extends PlatformEvent {
  /** How often the group got it, this time included; 1: the first time. */
  readonly attempt: number
  /**
   * The group is done with it. Resolves when the service has been told so: if it goes away before it took that in, the event
   * comes again. Does nothing with `autoAck`.
   */
  ack(): Promise<void>
  /** It has to come again, at once or after so many milliseconds, at most a day; the last time it becomes a dead letter. Does nothing with `autoAck`. */
  nack(options?: { readonly delayMs?: number }): Promise<void>
}

/** An event as the service sends it. */
export interface WireEvent {
  readonly id: string
  readonly topic: string
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
  readonly timestamp_ms: number
  readonly sequence: number
  /** Of one that is consumed. */
  readonly attempt?: number
}

/** Tells the service what became of an event. */
export type Answer = (event: string, success: boolean, delayMs: number) => Promise<void>

/** A class, since there are many: their methods are not made anew for each. */
class ReadEvent implements ConsumedEvent {
  readonly id: string
  readonly topic: string
  readonly sequence: number
  readonly metadata: PlatformEvent['metadata']
  readonly attempt: number
  readonly #timestampMs: number
  readonly #answer: Answer
  readonly #base64: string
  #payload: Buffer | undefined = undefined
  readonly #span: Span | undefined
  #context: Context | undefined = undefined

  constructor(event: WireEvent, answer: Answer, span?: Span) {
    this.#span = span
    this.id = event.id
    this.topic = event.topic
    this.sequence = event.sequence
    this.metadata = event.metadata
    this.attempt = event.attempt ?? 1
    this.#base64 = event.payload
    this.#timestampMs = event.timestamp_ms
    this.#answer = answer
  }

  get payload(): Uint8Array {
    this.#payload ??= Buffer.from(this.#base64, 'base64')
    return this.#payload
  }

  get context(): Context {
    this.#context ??= createEventContext(this, this.#span)
    return this.#context
  }

  get timestamp(): Date {
    return new Date(this.#timestampMs)
  }

  unmarshal<T>(): T {
    return JSON.parse(Buffer.from(this.#base64, 'base64').toString()) as T
  }

  ack(): Promise<void> {
    return this.#answer(this.id, true, 0)
  }

  nack({ delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<void> {
    return this.#answer(this.id, false, delayMs)
  }
}

const nobody: Answer = async () => {}

export function toPlatformEvent(event: WireEvent): PlatformEvent {
  return new ReadEvent(event, nobody)
}

/** @param span of what is done with it. */
export function toConsumedEvent(
  event: WireEvent,
  answer: Answer = nobody,
  span?: Span,
): ConsumedEvent {
  return new ReadEvent(event, answer, span)
}

/** Only the trace: what else is said of an event is for whoever gets it. */
function createEventContext(event: PlatformEvent, span: Span | undefined): Context {
  const fields = pickTraceHeaders((name) => event.metadata[name]) ?? {}
  const metadata = span === undefined ? { ...fields } : carryFields({ ...fields }, span)
  return createContext({ metadata, endpoint: event.topic })
}

/**
 * A payload as it is published: bytes, or JSON.
 *
 * @throws {TypeError} for a message JSON cannot say.
 */
export function toPayload(message: unknown): string {
  const bytes = toRawBytes(message)
  if (bytes !== undefined)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  const json = toJsonText(message, 'message must be bytes or what JSON can say')
  return Buffer.from(json).toString('base64')
}

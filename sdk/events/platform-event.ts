import type { Span } from '../../core/contracts/tracer.ts'
import { pickTraceHeaders } from '../../core/tracing/trace-headers.ts'
import { toJsonText } from '../codec/json-text.ts'
import { toRawBytes } from '../codec/raw-bytes.ts'
import { type Context, createContext } from '../context.ts'
import { carryFields } from '../tracing/message-span.ts'

/** `messaging.system` of spans. */
export const MESSAGING_SYSTEM = 'mx.events'

/** An event of a topic (specification: Event). */
export interface PlatformEvent {
  /** UUID. */
  readonly id: string
  readonly topic: string
  /** Position in the topic, from 1 without gaps. */
  readonly sequence: number
  /** Time of the event, set by the publisher. */
  readonly timestamp: Date
  readonly metadata: Readonly<Record<string, string>>
  readonly payload: Uint8Array
  /** Context for calls on behalf of the event: `{ context: event.context }` continues its trace. */
  readonly context: Context
  /**
   * Parses the payload as JSON; integers beyond 2^53 are exact only in {@link payload}.
   *
   * @throws {SyntaxError} for invalid JSON.
   */
  unmarshal<T = unknown>(): T
}

/** A consumed event. */
export interface ConsumedEvent extends PlatformEvent {
  /** Delivery attempt within the group, from 1. */
  readonly attempt: number
  /**
   * Acknowledges the event. Resolves when the acknowledgement is sent; if the service fails before storing it, the
   * event is redelivered. No-op with `autoAck`.
   */
  ack(): Promise<void>
  /**
   * Requests redelivery, immediately or after a delay of at most a day. After the last attempt, the event becomes a
   * dead letter. No-op with `autoAck`.
   */
  nack(options?: { readonly delayMs?: number }): Promise<void>
}

/** An event in the JSON format of the service. */
export interface WireEvent {
  readonly id: string
  readonly topic: string
  readonly metadata: Readonly<Record<string, string>>
  /** Base64. */
  readonly payload: string
  readonly timestamp_ms: number
  readonly sequence: number
  /** Present only in consumed events. */
  readonly attempt?: number
}

/** Sends an acknowledgement. */
export type Acknowledge = (event: string, success: boolean, delayMs: number) => Promise<void>

/** A class, so that the many events share their methods. */
class ReadEvent implements ConsumedEvent {
  readonly id: string
  readonly topic: string
  readonly sequence: number
  readonly metadata: PlatformEvent['metadata']
  readonly attempt: number
  readonly #timestampMs: number
  readonly #acknowledge: Acknowledge
  readonly #base64: string
  #payload: Buffer | undefined = undefined
  readonly #span: Span | undefined
  #context: Context | undefined = undefined

  constructor(event: WireEvent, acknowledge: Acknowledge, span?: Span) {
    this.#span = span
    this.id = event.id
    this.topic = event.topic
    this.sequence = event.sequence
    this.metadata = event.metadata
    this.attempt = event.attempt ?? 1
    this.#base64 = event.payload
    this.#timestampMs = event.timestamp_ms
    this.#acknowledge = acknowledge
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
    return this.#acknowledge(this.id, true, 0)
  }

  nack({ delayMs = 0 }: { readonly delayMs?: number } = {}): Promise<void> {
    return this.#acknowledge(this.id, false, delayMs)
  }
}

const noopAcknowledge: Acknowledge = async () => {}

export function toPlatformEvent(event: WireEvent): PlatformEvent {
  return new ReadEvent(event, noopAcknowledge)
}

/** @param span span of the event handling. */
export function toConsumedEvent(
  event: WireEvent,
  acknowledge: Acknowledge = noopAcknowledge,
  span?: Span,
): ConsumedEvent {
  return new ReadEvent(event, acknowledge, span)
}

/** Includes only the trace, because other metadata is for the consumer. */
function createEventContext(event: PlatformEvent, span: Span | undefined): Context {
  const fields = pickTraceHeaders((name) => event.metadata[name]) ?? {}
  const metadata = span === undefined ? { ...fields } : carryFields({ ...fields }, span)
  return createContext({ metadata, endpoint: event.topic })
}

/**
 * Encodes a payload: bytes, or JSON.
 *
 * @throws {TypeError} for a message that JSON cannot represent.
 */
export function toPayload(message: unknown): string {
  const bytes = toRawBytes(message)
  if (bytes !== undefined)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  const json = toJsonText(message, 'message must be bytes or a JSON value')
  return Buffer.from(json).toString('base64')
}

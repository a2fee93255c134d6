import { setTimeout as delay } from 'node:timers/promises'
import { isNotTaken } from '../core/auth/authorize.ts'
import { GatewayError } from '../core/errors.ts'
import type { CallStream } from './call-stream.ts'
import type { CallOptions, Client } from './client.ts'
import {
  type Answer,
  type ConsumedEvent,
  toConsumedEvent,
  type WireEvent,
} from './platform-event.ts'

/** Events as they come; iterate over it once. Leaving the loop, or `return()`, ends it. */
export type EventChannel = AsyncIterableIterator<ConsumedEvent>

/** How to begin, as the service is told. */
export interface ConsumeRequest {
  readonly topic: string
  readonly group?: string
  readonly sequence?: number
  readonly offset_ms?: number
  readonly auto_ack: boolean
  readonly ack_wait?: number
  readonly retry_limit: number
  readonly max_in_flight: number
}

export interface ChannelOptions {
  readonly client: Client
  readonly call: CallOptions
  /** Asked for once, when the first event is. */
  readonly begin: () => Promise<ConsumeRequest>
  /** Who acknowledges: `service`, what it has sent; `loop`, what it asks to be followed; `program`. */
  readonly acks: 'service' | 'loop' | 'program'
  /** Whether it goes on when the service was lost. */
  readonly resumes: boolean
}

type Stream = CallStream<object, WireEvent>

/** First wait before the service is called again; doubled with each that follows. */
const MIN_DELAY_MS = 50
const MAX_DELAY_MS = 5000
/** How long the service may take to keep what it was told. */
const LEAVE_MS = 5000
/** Codes of errors behind which the service may come back: it is not found, was lost, or is away. */
const AWAY = [404, 502, 503]

export function openChannel(options: ChannelOptions): EventChannel {
  const { client, call, begin, acks, resumes } = options
  let request: ConsumeRequest | undefined
  /** Of the last event, where nobody but the channel knows how far it is; 0: there was none. */
  let sequence = 0
  let stream: Stream | undefined
  /** The event that is waited for, or was. */
  let reading: Promise<unknown> = Promise.resolve()
  /** The last event, unless the program answers for it. */
  let unanswered: (() => Promise<void>) | undefined
  let failures = 0
  /** The service has taken the stream. */
  let hasBegun = false
  let isOver = false
  const waiting = new AbortController()

  async function connect(): Promise<Stream> {
    request ??= await begin()
    const opened = client.stream<object, WireEvent>('events', 'Stream.Consume', undefined, call)
    stream = opened
    hasBegun = false
    opened.begun().then(
      () => {
        if (stream === opened) hasBegun = true
      },
      () => {},
    )
    if (isOver) opened.cancel()
    await opened.send(sequence === 0 ? request : { ...request, sequence: sequence + 1 })
    return opened
  }

  /** What the service is told of an event goes where it came from; what has no way there comes again. */
  function toAnswer(from: Stream): Answer {
    return async (id, success, delayMs) => {
      await from.send({ id, success, ...(delayMs > 0 && { delay: Math.round(delayMs * 1e6) }) })
    }
  }

  function toEvent(from: Stream, wire: WireEvent): ConsumedEvent {
    if (acks === 'program') return toConsumedEvent(wire, toAnswer(from))
    if (acks === 'loop') unanswered = () => toAnswer(from)(wire.id, true, 0)
    else sequence = wire.sequence
    return toConsumedEvent(wire)
  }

  /** @throws what is no reason to go on. */
  async function wait(error: unknown): Promise<void> {
    stream = undefined
    unanswered = undefined
    // A stream ends with the token it began with; the next one begins with another, if there is one.
    const isExpired = error instanceof GatewayError && isNotTaken(error) && hasBegun
    const mayReturn = isExpired || (error instanceof GatewayError && AWAY.includes(error.code))
    if (!mayReturn || !resumes || request === undefined) throw error
    const ms = Math.min(MIN_DELAY_MS * 2 ** failures++, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
    await delay(ms, undefined, { signal: waiting.signal }).catch(() => {})
  }

  /** Ends a stream. What was acknowledged is then: the service ends the stream once it has kept that. */
  async function leave(from: Stream): Promise<void> {
    if (acks === 'service') {
      await from.return()
      return
    }
    from.end()
    const timer = setTimeout(() => from.cancel(), LEAVE_MS)
    try {
      await reading
      // What is on its way comes again, to others.
      while ((await from.next()).done !== true);
    } catch {
      // It is lost, and with it what was not kept.
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async next() {
      await unanswered?.()
      unanswered = undefined
      while (!isOver) {
        try {
          const from = stream ?? (await connect())
          const next = from.next()
          reading = next
          const { done, value } = await next
          if (isOver) break
          if (done === true) throw new GatewayError('events', 503, 'the stream of events has ended')
          failures = 0
          return { done: false, value: toEvent(from, value) }
        } catch (error) {
          if (isOver) break
          await wait(error)
        }
      }
      return { done: true, value: undefined }
    },

    async return() {
      isOver = true
      waiting.abort()
      // The last event is not acknowledged: whoever leaves a loop may have failed at it.
      if (stream !== undefined) await leave(stream)
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return this
    },
  }
}

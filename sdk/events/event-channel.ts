import { setTimeout as delay } from 'node:timers/promises'
import { isInvalidToken } from '../../core/auth/policy/decision.ts'
import type { Span } from '../../core/contracts/tracer.ts'
import { GatewayError } from '../../core/errors.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import type { CallOptions, Client } from '../client/client.ts'
import { ClientClosedError } from '../client/client-closed.ts'
import type { CallStream } from '../client/streams/call-stream.ts'
import { beginProcess, endMessage } from '../tracing/message-span.ts'
import type { Traces } from '../tracing/traces.ts'
import {
  type Acknowledge,
  type ConsumedEvent,
  MESSAGING_SYSTEM,
  toConsumedEvent,
  type WireEvent,
} from './platform-event.ts'

/**
 * Events as they arrive; can be iterated once. Ends when the loop is left, by `return()`, or when the consuming service
 * stops.
 */
export type EventChannel = AsyncIterableIterator<ConsumedEvent>

/** First message of a consumer, as sent to the service. */
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
  /** Creates spans of handled events. @default none */
  readonly traces?: Traces | undefined
  readonly call: CallOptions
  /** Called once, before the first event. */
  readonly begin: () => Promise<ConsumeRequest>
  /**
   * Acknowledges events: `service` when it sends them, `loop` when it requests the next event, `program` explicitly.
   */
  readonly acks: 'service' | 'loop' | 'program'
  /** Resume after the connection to the service was lost. */
  readonly resumes: boolean
}

type Stream = CallStream<object, WireEvent>

/** Maximum time in milliseconds for the service to store the last acknowledgements. */
const LEAVE_MS = 5000
/** Temporary errors: the service is not found, not reachable, or unavailable. */
const TEMPORARY = [404, 502, 503]

export function openChannel(options: ChannelOptions): EventChannel {
  const { client, traces, call, begin, acks, resumes } = options
  let request: ConsumeRequest | undefined
  /** Sequence of the last event, if the channel tracks the position; 0 if none. */
  let sequence = 0
  let stream: Stream | undefined
  /** The pending read. */
  let reading: Promise<unknown> = Promise.resolve()
  /** Acknowledges the last event, unless the program does. */
  let acknowledgeLast: (() => Promise<void>) | undefined
  /** Spans of events in progress; with `program` they end at the acknowledgement. */
  const spans = new Map<string, Span>()
  const backOff = createBackOff()
  /** True once the service has accepted the stream. */
  let hasBegun = false
  let hasEnded = false
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
    if (hasEnded) opened.cancel()
    await opened.send(sequence === 0 ? request : { ...request, sequence: sequence + 1 })
    return opened
  }

  /** Acknowledgements are sent on the stream of the event. If it is lost, the event is redelivered. */
  function toAcknowledge(from: Stream): Acknowledge {
    return async (id, success, delayMs) => {
      endSpan(id, success)
      await from.send({ id, success, ...(delayMs > 0 && { delay: Math.round(delayMs * 1e6) }) })
    }
  }

  function toEvent(from: Stream, wire: WireEvent): ConsumedEvent {
    const span = beginSpan(wire)
    if (acks === 'program') return toConsumedEvent(wire, toAcknowledge(from), span)
    if (acks === 'loop') acknowledgeLast = () => toAcknowledge(from)(wire.id, true, 0)
    else sequence = wire.sequence
    return toConsumedEvent(wire, undefined, span)
  }

  function beginSpan({ id, topic, metadata }: WireEvent): Span | undefined {
    const group = request?.group
    const span = beginProcess(traces, { system: MESSAGING_SYSTEM, topic, group, id }, metadata)
    if (span !== undefined) spans.set(id, span)
    return span
  }

  function endSpan(id: string, success: boolean): void {
    const span = spans.get(id)
    if (span === undefined) return
    spans.delete(id)
    endMessage(span, success ? undefined : new Error('not acknowledged'))
  }

  /** Ends the spans of earlier events when the next event is requested, unless the program acknowledges. */
  function endSpans(): void {
    if (spans.size === 0) return
    for (const span of spans.values()) endMessage(span)
    spans.clear()
  }

  /** Waits before the next attempt. @throws permanent errors. */
  async function wait(error: unknown): Promise<void> {
    stream = undefined
    acknowledgeLast = undefined
    endSpans()
    // A stream ends when its token expires; the next one uses a new token if available.
    const isExpired = error instanceof GatewayError && isInvalidToken(error) && hasBegun
    const mayReturn = isExpired || (error instanceof GatewayError && TEMPORARY.includes(error.code))
    if (!mayReturn || !resumes || request === undefined) throw error
    await delay(backOff.next(), undefined, { signal: waiting.signal }).catch(() => {})
  }

  /** Ends a stream. The service closes it after it has stored the acknowledgements. */
  async function leave(from: Stream): Promise<void> {
    if (acks === 'service') {
      await from.return()
      return
    }
    from.end()
    const timer = setTimeout(() => from.cancel(), LEAVE_MS)
    try {
      await reading
      // Events in transit are redelivered to other consumers.
      while ((await from.next()).done !== true);
    } catch {
      // The connection was lost, with acknowledgements that were not stored.
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async next() {
      if (acks !== 'program') endSpans()
      if (acknowledgeLast !== undefined) {
        await acknowledgeLast()
        acknowledgeLast = undefined
      }
      while (!hasEnded) {
        try {
          const from = stream ?? (await connect())
          const next = from.next()
          reading = next
          const { done, value } = await next
          if (hasEnded) break
          if (done === true) throw new GatewayError('events', 503, 'the stream of events has ended')
          backOff.reset()
          return { done: false, value: toEvent(from, value) }
        } catch (error) {
          // The service that owns the client is stopping, which is a regular end.
          if (error instanceof ClientClosedError) hasEnded = true
          if (hasEnded) break
          await wait(error)
        }
      }
      return { done: true, value: undefined }
    },

    async return() {
      hasEnded = true
      endSpans()
      waiting.abort()
      // The last event is not acknowledged, because the loop may have failed while handling it.
      if (stream !== undefined) await leave(stream)
      return { done: true, value: undefined }
    },

    [Symbol.asyncIterator]() {
      return this
    },
  }
}

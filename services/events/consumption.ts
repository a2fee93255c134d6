import type { EventTopic } from '../../core/contracts/events.ts'
import type { ConsumeOptions } from '../../domain/events/consume-options.ts'
import type { ConsumedEvent, EventConsumer } from '../../domain/events/consumer.ts'
import type { Events } from '../../domain/events/events.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { badRequest, unavailable } from '../../sdk/errors.ts'
import type { PromptIterable } from '../../sdk/service/endpoint.ts'
import {
  type ConsumeMessage,
  type DeliveryMessage,
  toDelivery,
  toTimeMs,
  toWaitMs,
} from './messages.ts'

export interface ConsumptionOptions {
  readonly events: Events
  readonly namespace: string
  /** Throws if the caller may not read the topic. @default allows all topics */
  readonly mustBeReadable?: (topic: EventTopic) => void
  /**
   * The first message starts the consumption; further messages acknowledge events. If
   * acknowledgements are required, the consumption ends when the requests end.
   */
  readonly requests: AsyncIterable<ConsumeMessage>
  /** Id used in errors. */
  readonly id: string
  /** Called once the consumption is active. */
  readonly onStart: () => void
}

const NONE: readonly ConsumedEvent[] = []
const DONE = { done: true, value: undefined } as const

/** Streams events at the caller's pace. */
export function consume(options: ConsumptionOptions): PromptIterable<DeliveryMessage> {
  const { events, namespace, requests, id, onStart, mustBeReadable } = options
  const messages = requests[Symbol.asyncIterator]()
  let consumer: EventConsumer | undefined
  let topic = ''
  let batch = NONE
  let at = 0
  let isEnded = false
  /** Settles once events in flight have been returned to the group. Undefined before the end. */
  let leaving: Promise<void> | undefined
  let failure: unknown

  async function begin(): Promise<EventConsumer | undefined> {
    const { done, value } = await messages.next()
    if (done === true) throw badRequest(id, 'the first message must set a topic')
    topic = value.topic
    mustBeReadable?.({ namespace, topic })
    const started = await events.consume({ namespace, topic }, toOptions(value, id))
    if (isEnded) {
      await started.leave()
      return undefined
    }
    consumer = started
    onStart()
    void readAnswers(started)
    return started
  }

  async function readAnswers(started: EventConsumer): Promise<void> {
    const settling = new Set<Promise<void>>()
    try {
      for (;;) {
        const { done, value } = await messages.next()
        if (done === true) return started.acks ? leave(started, settling) : undefined
        if (value.id === '') throw badRequest(id, 'request.id must not be empty')
        const settled = value.success
          ? started.ack(value.id)
          : started.nack(value.id, toWaitMs(value.delay))
        // Not awaited, so that acknowledgements of the same tick are stored together.
        if (settled instanceof Promise) {
          const stored = settled.catch(fail).finally(() => settling.delete(stored))
          settling.add(stored)
        }
      }
    } catch (error) {
      fail(error)
    }
  }

  /** Called when the caller has finished. The stream ends once its acknowledgements are stored. */
  async function leave(started: EventConsumer, settling: Iterable<Promise<void>>): Promise<void> {
    leaving = Promise.all(settling).then(() => started.leave())
    await leaving
  }

  /** Reports an error to the caller unless it has left. */
  function fail(error: unknown): void {
    failure ??= error
    void consumer?.leave()
  }

  async function pull(): Promise<IteratorResult<DeliveryMessage>> {
    const current = consumer ?? (await begin())
    batch = (await current?.next()) ?? NONE
    at = 0
    return take()
  }

  function take(): Maybe<IteratorResult<DeliveryMessage>> {
    // The stream ends afterwards, so that a caller that immediately consumes again receives the
    // events in order.
    if (leaving !== undefined) return leaving.then(end)
    const event = batch[at++]
    return event === undefined ? end() : { done: false, value: toDelivery(topic, event) }
  }

  function end(): IteratorResult<DeliveryMessage> {
    if (isEnded || (leaving !== undefined && failure === undefined)) return DONE
    throw failure ?? unavailable(id, 'the events service is stopping')
  }

  const iterator = {
    next(): Maybe<IteratorResult<DeliveryMessage>> {
      if (isEnded) return DONE
      return at === batch.length ? pull() : take()
    },

    async return() {
      isEnded = true
      await consumer?.leave()
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

function toOptions(message: ConsumeMessage, id: string): ConsumeOptions {
  const { topic, group, sequence, auto_ack, max_in_flight } = message
  if (topic === '') throw badRequest(id, 'Missing topic')
  if (!auto_ack && message.ack_wait === 0)
    throw badRequest(id, 'invalid AckWait passed, should be positive integer: request.ack_wait')
  const sinceMs = toTimeMs(message.offset, message.offset_ms)
  return {
    start: { ...(sequence > 0 && { sequence }), ...(sinceMs !== undefined && { sinceMs }) },
    autoAck: auto_ack,
    retryLimit: message.retry_limit,
    ...(group !== '' && { group }),
    ...(!auto_ack && { ackWaitMs: toWaitMs(message.ack_wait) }),
    ...(max_in_flight > 0 && { maxInFlight: max_in_flight }),
  }
}

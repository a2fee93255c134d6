import type { EventDelivery, EventMember } from '../../core/contracts/events.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { DeadReason } from './dead-letters.ts'

export type ConsumedEvent = Pick<EventDelivery, 'event' | 'attempt'>

/** Pulls events as fast as its owner processes them, with a limited number of events in flight. */
export interface EventConsumer {
  /** Whether events must be acknowledged. */
  readonly acks: boolean
  /**
   * Waits for the next events. Returns an empty list after leaving. Must not be called again before
   * it has settled.
   */
  readonly next: () => Promise<readonly ConsumedEvent[]>
  /** Acknowledges an event. No-op if the event is no longer in flight; it is then redelivered. */
  readonly ack: (id: string) => Maybe<void>
  /**
   * Rejects an event. It is redelivered after a delay, or becomes a dead letter after the last
   * attempt.
   */
  readonly nack: (id: string, delayMs: number) => Maybe<void>
  /** Leaves the group. Unacknowledged events are redelivered to other consumers. */
  readonly leave: () => Promise<void>
}

/**
 * Determines what acknowledges events: nothing, the next request for events, or the owner of the
 * consumer.
 */
export type Acks = 'none' | 'auto' | 'owner'

export interface ConsumerOptions {
  readonly acks: Acks
  readonly ackWaitMs: number
  /** Maximum number of redeliveries; -1 for unlimited. */
  readonly retryLimit: number
  /** Maximum number of unacknowledged events in flight. */
  readonly maxInFlight: number
  /** Writes an event to the dead letters. */
  readonly bury: (delivery: EventDelivery, reason: DeadReason) => Promise<void>
  /** Called if an event could not become a dead letter or be returned. The event is redelivered. */
  readonly onError: (error: unknown) => void
  readonly onDisconnect: () => void
}

interface LeasedEvent {
  readonly delivery: EventDelivery
  readonly untilMs: number
}

/**
 * Maximum number of events per pull. It is lower with acknowledgements, so that few events are
 * pending while their timeout runs.
 */
const MAX_PULLED = 512
const MAX_PULLED_TO_ACK = 64
/** Maximum size in bytes of payloads per pull. A single event may be longer. */
const MAX_PULLED_BYTES = 1024 * 1024
/** Maximum size in bytes of payloads in flight. A single event may be longer. */
const MAX_IN_FLIGHT_BYTES = 16 * 1024 * 1024

export function createConsumer(member: EventMember, options: ConsumerOptions): EventConsumer {
  const { acks, ackWaitMs, retryLimit, maxInFlight, bury, onError, onDisconnect } = options
  const maxPulled = acks === 'none' ? MAX_PULLED : MAX_PULLED_TO_ACK
  /** Events by id, oldest pull first. */
  const inFlight = new Map<string, LeasedEvent>()
  let bufferedBytes = 0
  /** Delivered events that are acknowledged by the next request. */
  let awaitingAck: readonly EventDelivery[] = []
  let acking: Promise<unknown> = Promise.resolve()
  let onRoom: () => void = () => {}
  let leaving: Promise<void> | undefined

  function lease(delivery: EventDelivery): void {
    const { id, payload } = delivery.event
    release(id)
    inFlight.set(id, { delivery, untilMs: performance.now() + ackWaitMs })
    bufferedBytes += payload.length
  }

  function release(id: string): EventDelivery | undefined {
    const delivery = inFlight.get(id)?.delivery
    if (delivery === undefined) return undefined
    inFlight.delete(id)
    bufferedBytes -= delivery.event.payload.length
    onRoom()
    return delivery
  }

  /** Returns the milliseconds until the next timeout, or undefined if no event is in flight. */
  function releaseExpired(): number | undefined {
    const nowMs = performance.now()
    for (const [id, { delivery, untilMs }] of inFlight) {
      if (untilMs > nowMs) return untilMs - nowMs
      release(id)
      // The group may notice the timeout later and would then deliver subsequent events first.
      const nacked = delivery.nack(0)
      if (nacked instanceof Promise) nacked.catch(onError)
    }
    return undefined
  }

  /** Waits until fewer events are in flight than the limit allows. */
  async function waitForRoom(): Promise<void> {
    for (;;) {
      const remainingMs = releaseExpired()
      if (
        remainingMs === undefined ||
        (inFlight.size < maxInFlight && bufferedBytes < MAX_IN_FLIGHT_BYTES)
      )
        return
      if (leaving !== undefined) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, remainingMs)
        onRoom = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      onRoom = () => {}
    }
  }

  function pull(): Promise<readonly EventDelivery[]> {
    if (acks !== 'owner') return member.pull(maxPulled, MAX_PULLED_BYTES)
    const maxBytes = Math.min(MAX_PULLED_BYTES, MAX_IN_FLIGHT_BYTES - bufferedBytes)
    return member.pull(Math.min(maxPulled, maxInFlight - inFlight.size), maxBytes)
  }

  const isLast = ({ attempt }: EventDelivery): boolean => retryLimit >= 0 && attempt > retryLimit

  /** Returns the deliverable events. Events with too many attempts become dead letters. */
  async function sort(pulled: readonly EventDelivery[]): Promise<readonly EventDelivery[]> {
    if (retryLimit < 0) return pulled
    const isTooOften = ({ attempt }: EventDelivery): boolean => attempt > retryLimit + 1
    await Promise.all(pulled.filter(isTooOften).map((one) => bury(one, 'ack_wait').catch(onError)))
    return pulled.filter((one) => !isTooOften(one))
  }

  async function next(): Promise<readonly ConsumedEvent[]> {
    if (awaitingAck.length > 0) {
      await acking
      acking = Promise.all(awaitingAck.map((delivery) => delivery.ack()))
      // The error is thrown when the promise is awaited.
      acking.catch(() => {})
      awaitingAck = []
    }
    while (leaving === undefined) {
      if (acks === 'owner') await waitForRoom()
      if (leaving !== undefined) break
      const deliveries = await sort(await pull())
      if (deliveries.length === 0) continue
      if (acks === 'auto') awaitingAck = deliveries
      if (acks === 'owner') for (const delivery of deliveries) lease(delivery)
      return deliveries
    }
    return []
  }

  return {
    acks: acks === 'owner',
    next,

    ack: (id) => release(id)?.ack(),

    nack(id, delayMs) {
      const delivery = release(id)
      if (delivery === undefined) return
      return isLast(delivery) ? bury(delivery, 'nack') : delivery.nack(delayMs)
    },

    leave() {
      leaving ??= (async () => {
        onRoom()
        onDisconnect()
        await acking.catch(() => {})
        await member.leave()
      })()
      return leaving
    },
  }
}

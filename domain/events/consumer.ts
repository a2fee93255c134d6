import type { EventDelivery, EventMember } from '../../core/contracts/events.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { DeadReason } from './dead-letters.ts'

/** An event as its consumer gets it. */
export type ConsumedEvent = Pick<EventDelivery, 'event' | 'attempt'>

/** Takes events as fast as its owner asks for them, and no more than some at a time. */
export interface EventConsumer {
  /** Whether events have to be acknowledged. */
  readonly acks: boolean
  /** The next events; waits for one. None: it was left. Not to be called again before it has settled. */
  readonly next: () => Promise<readonly ConsumedEvent[]>
  /** The consumer is done with an event. One that it does not hold any more comes again, whatever is said here. */
  readonly ack: (id: string) => Maybe<void>
  /** The event may come again, after a delay; or, the last time, becomes a dead letter. */
  readonly nack: (id: string, delayMs: number) => Maybe<void>
  /** What was not acknowledged comes again, to others. */
  readonly leave: () => Promise<void>
}

/** Who acknowledges: nobody, whoever asks for more what it got before, or the owner of the consumer. */
export type Acks = 'none' | 'auto' | 'owner'

export interface ConsumerOptions {
  readonly acks: Acks
  readonly ackWaitMs: number
  /** How often an event comes again; -1: as often as it must. */
  readonly retryLimit: number
  /** Most events that are held: not acknowledged, and in time. */
  readonly maxInFlight: number
  /** Gives an event up. */
  readonly bury: (delivery: EventDelivery, reason: DeadReason) => Promise<void>
  /** Told what could not be given up, or back: it comes again. */
  readonly onError: (error: unknown) => void
  readonly onDisconnect: () => void
}

interface HeldEvent {
  readonly delivery: EventDelivery
  readonly untilMs: number
}

/** Events of one pull. Where they have to be acknowledged in time, few wait for their turn. */
const MAX_PULLED = 512
const MAX_PULLED_TO_ACK = 64
/** Payloads of one pull, bytes; one event may be longer. */
const MAX_PULLED_BYTES = 1024 * 1024
/** Payloads that are held, bytes; one event may be longer. */
const MAX_IN_FLIGHT_BYTES = 16 * 1024 * 1024

export function createConsumer(member: EventMember, options: ConsumerOptions): EventConsumer {
  const { acks, ackWaitMs, retryLimit, maxInFlight, bury, onError, onDisconnect } = options
  const maxPulled = acks === 'none' ? MAX_PULLED : MAX_PULLED_TO_ACK
  /** By id, those that were pulled first in front. */
  const held = new Map<string, HeldEvent>()
  let bufferedBytes = 0
  /** Handed on, and to be acknowledged when more is asked for. */
  let handed: readonly EventDelivery[] = []
  let acking: Promise<unknown> = Promise.resolve()
  let onRoom: () => void = () => {}
  let left: Promise<void> | undefined

  function hold(delivery: EventDelivery): void {
    const { id, payload } = delivery.event
    letGo(id)
    held.set(id, { delivery, untilMs: performance.now() + ackWaitMs })
    bufferedBytes += payload.length
  }

  function letGo(id: string): EventDelivery | undefined {
    const delivery = held.get(id)?.delivery
    if (delivery === undefined) return undefined
    held.delete(id)
    bufferedBytes -= delivery.event.payload.length
    onRoom()
    return delivery
  }

  /** Milliseconds until the time of one is over; undefined: nothing is held. */
  function letGoOfLate(): number | undefined {
    const nowMs = performance.now()
    for (const [id, { delivery, untilMs }] of held) {
      if (untilMs > nowMs) return untilMs - nowMs
      letGo(id)
      // The group may notice a little later, and would hand out what follows first.
      const given = delivery.nack(0)
      if (given instanceof Promise) given.catch(onError)
    }
    return undefined
  }

  /** Waits until fewer are held than may be. */
  async function waitForRoom(): Promise<void> {
    for (;;) {
      const leftMs = letGoOfLate()
      if (leftMs === undefined || (held.size < maxInFlight && bufferedBytes < MAX_IN_FLIGHT_BYTES))
        return
      if (left !== undefined) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
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
    return member.pull(Math.min(maxPulled, maxInFlight - held.size), maxBytes)
  }

  const isLast = ({ attempt }: EventDelivery): boolean => retryLimit >= 0 && attempt > retryLimit

  /** What may be handed on; the others have come too often, and are given up. */
  async function sort(pulled: readonly EventDelivery[]): Promise<readonly EventDelivery[]> {
    if (retryLimit < 0) return pulled
    const isTooOften = ({ attempt }: EventDelivery): boolean => attempt > retryLimit + 1
    await Promise.all(pulled.filter(isTooOften).map((one) => bury(one, 'ack_wait').catch(onError)))
    return pulled.filter((one) => !isTooOften(one))
  }

  async function next(): Promise<readonly ConsumedEvent[]> {
    if (handed.length > 0) {
      await acking
      acking = Promise.all(handed.map((delivery) => delivery.ack()))
      // It is thrown when it is waited for.
      acking.catch(() => {})
      handed = []
    }
    while (left === undefined) {
      if (acks === 'owner') await waitForRoom()
      if (left !== undefined) break
      const deliveries = await sort(await pull())
      if (deliveries.length === 0) continue
      if (acks === 'auto') handed = deliveries
      if (acks === 'owner') for (const delivery of deliveries) hold(delivery)
      return deliveries
    }
    return []
  }

  return {
    acks: acks === 'owner',
    next,

    ack: (id) => letGo(id)?.ack(),

    nack(id, delayMs) {
      const delivery = letGo(id)
      if (delivery === undefined) return
      return isLast(delivery) ? bury(delivery, 'nack') : delivery.nack(delayMs)
    },

    leave() {
      left ??= (async () => {
        onRoom()
        onDisconnect()
        await acking.catch(() => {})
        await member.leave()
      })()
      return left
    },
  }
}

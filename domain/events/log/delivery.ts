import type { EventDelivery, StoredEvent } from '../../../core/contracts/events.ts'
import { deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

/** Member of a group as seen by its events in flight. */
export interface LogConsumer {
  readonly ackWaitMs: number
}

/** A pulled event that has been neither acknowledged nor removed. */
export class InFlightEvent implements Timed {
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  readonly sequence: number
  readonly attempt: number
  /** Undefined once released. The event is then redelivered after its deadline, if it has one. */
  consumer: LogConsumer | undefined
  readonly #onAvailable: (inFlight: InFlightEvent) => void

  /** @param onAvailable called when the deadline has expired and the event can be redelivered. */
  constructor(
    sequence: number,
    attempt: number,
    consumer: LogConsumer,
    onAvailable: (inFlight: InFlightEvent) => void,
  ) {
    this.sequence = sequence
    this.attempt = attempt
    this.consumer = consumer
    this.#onAvailable = onAvailable
    deadlines.add(this, consumer.ackWaitMs)
  }

  /**
   * Detaches the event from its consumer. With a delay, `onAvailable` is called after the delay;
   * without one, the caller redelivers the event.
   */
  release(delayMs: number): void {
    deadlines.remove(this)
    this.consumer = undefined
    if (delayMs > 0) deadlines.add(this, delayMs)
  }

  onDeadline(): void {
    this.consumer = undefined
    this.#onAvailable(this)
  }
}

/** Acknowledges and rejects events in flight. */
export interface AckHandlers {
  readonly ack: (inFlight: InFlightEvent) => Maybe<void>
  readonly nack: (inFlight: InFlightEvent, delayMs: number) => void
}

/** Delivery of an event. It is a class, so that thousands of deliveries share its methods. */
export class LogDelivery implements EventDelivery {
  readonly event: StoredEvent
  readonly attempt: number
  readonly #inFlight: InFlightEvent
  readonly #calls: AckHandlers

  constructor(event: StoredEvent, inFlight: InFlightEvent, calls: AckHandlers) {
    this.event = event
    this.attempt = inFlight.attempt
    this.#inFlight = inFlight
    this.#calls = calls
  }

  ack(): Maybe<void> {
    return this.#calls.ack(this.#inFlight)
  }

  nack(delayMs: number): void {
    this.#calls.nack(this.#inFlight, delayMs)
  }
}

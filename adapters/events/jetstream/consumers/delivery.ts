import type { EventDelivery, StoredEvent } from '../../../../core/contracts/events.ts'
import type { Maybe } from '../../../../lib/async/maybe.ts'

/** Operations on pulled events. */
export interface DeliveryCalls {
  readonly ack: (delivery: JetDelivery) => Maybe<void>
  readonly nack: (delivery: JetDelivery, delayMs: number) => Maybe<void>
}

/** Delivery of an event. It is a class because members have thousands of deliveries. */
export class JetDelivery implements EventDelivery {
  readonly event: StoredEvent
  readonly attempt: number
  /** Reply subject for acknowledgements. */
  readonly reply: string
  readonly #calls: DeliveryCalls

  constructor(event: StoredEvent, attempt: number, reply: string, calls: DeliveryCalls) {
    this.event = event
    this.attempt = attempt
    this.reply = reply
    this.#calls = calls
  }

  ack(): Maybe<void> {
    return this.#calls.ack(this)
  }

  nack(delayMs: number): Maybe<void> {
    return this.#calls.nack(this, delayMs)
  }
}

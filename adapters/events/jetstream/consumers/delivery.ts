import type { EventDelivery, StoredEvent } from '../../../../core/contracts/events.ts'
import type { Maybe } from '../../../../lib/async/maybe.ts'

/** What becomes of events that were pulled. */
export interface DeliveryCalls {
  readonly ack: (delivery: JetDelivery) => Maybe<void>
  readonly nack: (delivery: JetDelivery, delayMs: number) => Maybe<void>
}

/** A class: members have thousands, whose methods are not made anew for each. */
export class JetDelivery implements EventDelivery {
  readonly event: StoredEvent
  readonly attempt: number
  /** Where it is acknowledged. */
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

import type { EventDelivery, StoredEvent } from '../../../core/contracts/events.ts'
import { deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'

/** What a member of a group over a log is to what it holds. */
export interface LogConsumer {
  readonly ackWaitMs: number
}

/** An event that was pulled, and is not done with. */
export class InFlightEvent implements Timed {
  deadlineMs = 0
  timedNext: Timed['timedNext'] = undefined
  timedPrev: Timed['timedPrev'] = undefined
  readonly sequence: number
  readonly attempt: number
  /** Undefined: nobody, and it may be pulled once its deadline, if it has one, is over. */
  holder: LogConsumer | undefined
  readonly #onFree: (inFlight: InFlightEvent) => void

  /** @param onFree the deadline is over: it may be pulled again. */
  constructor(
    sequence: number,
    attempt: number,
    holder: LogConsumer,
    onFree: (inFlight: InFlightEvent) => void,
  ) {
    this.sequence = sequence
    this.attempt = attempt
    this.holder = holder
    this.#onFree = onFree
    deadlines.add(this, holder.ackWaitMs)
  }

  /** Nobody holds it any more; it may be pulled after a delay, or without one when its owner says so. */
  letGo(delayMs: number): void {
    deadlines.remove(this)
    this.holder = undefined
    if (delayMs > 0) deadlines.add(this, delayMs)
  }

  onDeadline(): void {
    this.holder = undefined
    this.#onFree(this)
  }
}

/** What becomes of events that were pulled. */
export interface AckHandlers {
  readonly ack: (inFlight: InFlightEvent) => Maybe<void>
  readonly nack: (inFlight: InFlightEvent, delayMs: number) => void
}

/** A class: members have thousands, whose methods are not made anew for each. */
export class LogDelivery implements EventDelivery {
  readonly event: StoredEvent
  readonly attempt: number
  readonly #held: InFlightEvent
  readonly #calls: AckHandlers

  constructor(event: StoredEvent, inFlight: InFlightEvent, calls: AckHandlers) {
    this.event = event
    this.attempt = inFlight.attempt
    this.#held = inFlight
    this.#calls = calls
  }

  ack(): Maybe<void> {
    return this.#calls.ack(this.#held)
  }

  nack(delayMs: number): void {
    this.#calls.nack(this.#held, delayMs)
  }
}

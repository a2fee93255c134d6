import type { Session } from '../session.ts'
import type { EventMessage } from './message.ts'

/** How to consume, as the service `events` takes it (reference 5.2). */
export interface ConsumeRequest {
  readonly topic: string
  /** Empty: one of its own. */
  readonly group: string
  /** Milliseconds since 1970; 0: as {@link sequence} says. */
  readonly offset_ms: number
  /** 0: as {@link offset_ms} says, else with what is new. */
  readonly sequence: number
}

/** What is consumed. */
export interface Consumption {
  /** Each is acknowledged when the next one is asked for. */
  readonly events: AsyncIterable<EventMessage>
  /** Ends it once what was acknowledged is kept. */
  readonly leave: () => void
}

const ACK_WAIT_NS = 60e9
/** Events that are sent before the first of them is acknowledged. */
const MAX_IN_FLIGHT = 64

/** Consumes events. @param limit ends after so many; 0: none. */
export function consume(session: Session, request: ConsumeRequest, limit: number): Consumption {
  const how = { auto_ack: false, ack_wait: ACK_WAIT_NS, max_in_flight: MAX_IN_FLIGHT }
  const waiting: object[] = [{ ...request, ...how }]
  let isLeft = false
  let wake = (): void => {}

  async function* send(): AsyncGenerator<object, void, undefined> {
    for (;;) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      if (isLeft) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  function leave(): void {
    isLeft = true
    wake()
  }

  async function* receive(): AsyncGenerator<EventMessage, void, undefined> {
    let shown = 0
    for await (const event of session.stream<EventMessage>('events', 'Stream.Consume', send())) {
      // Those that were on their way come again.
      if (isLeft) continue
      yield event
      waiting.push({ id: event.id, success: true })
      if (++shown === limit) leave()
      else wake()
    }
  }

  return { events: receive(), leave }
}

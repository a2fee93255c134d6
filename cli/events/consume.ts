import type { Session } from '../session/session.ts'
import type { EventMessage } from './message.ts'

/** Request of `Stream.Consume` (reference 5.2). */
export interface ConsumeRequest {
  readonly topic: string
  /** Consumer group; empty for a temporary group. */
  readonly group: string
  /** Start as Unix time in milliseconds; 0 if unset. */
  readonly offset_ms: number
  /** Start as a sequence; 0 if unset. Without a start, only new events are delivered. */
  readonly sequence: number
}

export interface Consumption {
  /** Consumed events. Each is acknowledged when the next one is requested. */
  readonly events: AsyncIterable<EventMessage>
  /** Ends the stream after pending acknowledgements are sent. */
  readonly finish: () => void
}

const ACK_WAIT_NS = 60e9
/** Maximum unacknowledged events in flight. */
const MAX_IN_FLIGHT = 64

const OPTIONS = { auto_ack: false, ack_wait: ACK_WAIT_NS, max_in_flight: MAX_IN_FLIGHT }

/** Consumes events across token renewals and server restarts. @param limit number of events; 0 for unlimited */
export function consume(session: Session, request: ConsumeRequest, limit: number): Consumption {
  let outbox = openOutbox({ ...request, ...OPTIONS })
  let lastSequence = 0
  const leaving = new AbortController()

  function finish(): void {
    leaving.abort()
    outbox.end()
  }

  /**
   * Resumes the stream. The server stores the position of a group; without a group, consumption continues after the
   * last event.
   */
  function resume(): AsyncIterable<object> {
    const isTemporary = request.group === '' && lastSequence > 0
    const from = isTemporary ? { sequence: lastSequence + 1, offset_ms: 0 } : {}
    outbox = openOutbox({ ...request, ...from, ...OPTIONS })
    if (leaving.signal.aborted) outbox.end()
    return outbox.messages
  }

  async function* receive(): AsyncGenerator<EventMessage, void, undefined> {
    let received = 0
    const { messages } = outbox
    for await (const event of session.stream<EventMessage>('events', 'Stream.Consume', messages, {
      resume,
      stop: leaving.signal,
    })) {
      // The server redelivers unacknowledged events.
      if (leaving.signal.aborted) continue
      yield event
      lastSequence = event.sequence
      outbox.send({ id: event.id, success: true })
      if (++received === limit) finish()
    }
  }

  return { events: receive(), finish }
}

/** Request queue of a single stream. */
interface Outbox {
  readonly messages: AsyncIterable<object>
  readonly send: (message: object) => void
  /** Ends the queue after the pending messages. */
  readonly end: () => void
}

function openOutbox(first: object): Outbox {
  const waiting = [first]
  let isEnded = false
  let notify = (): void => {}

  async function* drain(): AsyncGenerator<object, void, undefined> {
    for (;;) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      if (isEnded) return
      await new Promise<void>((resolve) => {
        notify = resolve
      })
    }
  }

  return {
    messages: drain(),
    send(message) {
      waiting.push(message)
      notify()
    },
    end() {
      isEnded = true
      notify()
    },
  }
}

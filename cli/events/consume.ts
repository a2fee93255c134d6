import type { Session } from '../session/session.ts'
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

const HOW = { auto_ack: false, ack_wait: ACK_WAIT_NS, max_in_flight: MAX_IN_FLIGHT }

/** Consumes events, also with the next token and after a restart of the server. @param limit ends after so many; 0: none. */
export function consume(session: Session, request: ConsumeRequest, limit: number): Consumption {
  let outbox = openOutbox({ ...request, ...HOW })
  let lastSequence = 0
  const left = new AbortController()

  function leave(): void {
    left.abort()
    outbox.end()
  }

  /** A group goes on by itself; what has none behind what was shown. */
  function resume(): AsyncIterable<object> {
    const isOwn = request.group === '' && lastSequence > 0
    const from = isOwn ? { sequence: lastSequence + 1, offset_ms: 0 } : {}
    outbox = openOutbox({ ...request, ...from, ...HOW })
    if (left.signal.aborted) outbox.end()
    return outbox.messages
  }

  async function* receive(): AsyncGenerator<EventMessage, void, undefined> {
    let shown = 0
    const { messages } = outbox
    for await (const event of session.stream<EventMessage>('events', 'Stream.Consume', messages, {
      resume,
      stop: left.signal,
    })) {
      // Those that were on their way come again.
      if (left.signal.aborted) continue
      yield event
      lastSequence = event.sequence
      outbox.send({ id: event.id, success: true })
      if (++shown === limit) leave()
    }
  }

  return { events: receive(), leave }
}

/** The requests of one stream, as they are there. */
interface Outbox {
  readonly messages: AsyncIterable<object>
  readonly send: (message: object) => void
  /** Behind those that are there. */
  readonly end: () => void
}

function openOutbox(first: object): Outbox {
  const waiting = [first]
  let isOver = false
  let wake = (): void => {}

  async function* take(): AsyncGenerator<object, void, undefined> {
    for (;;) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      if (isOver) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }

  return {
    messages: take(),
    send(message) {
      waiting.push(message)
      wake()
    },
    end() {
      isOver = true
      wake()
    },
  }
}

import type { Msg } from '@nats-io/transport-node'
import { deadlines, type Timed } from '../../../../core/rpc/deadlines.ts'
import { eventsUnavailable } from '../../../../domain/events/errors.ts'
import { notPermitted } from '../errors.ts'
import type { Session } from '../session.ts'
import { isAckSubject } from './ack-subject.ts'

/** How much to pull. */
export interface PullRequest {
  readonly limit: number
  /** Bytes of messages, with all they have besides their payloads; one message may be longer. */
  readonly maxBytes: number
  /** Milliseconds to wait for a message; 0: what is there, and be it nothing. */
  readonly waitMs: number
}

/** What a pull came to. */
export interface Pulled {
  readonly messages: readonly Msg[]
  /**
   * `done`: there is no more at the moment, or this was as much as was asked for. `busy`: others pull what there is. `gone`: the consumer,
   * or its stream, or perhaps only its answers. `over`: the session, or the puller was closed.
   */
  readonly end: 'done' | 'busy' | 'gone' | 'over'
}

/** Pulls messages of one consumer, one request at a time. */
export interface Puller {
  /** @throws {GatewayError} 403, 503 */
  readonly pull: (request: PullRequest) => Promise<Pulled>
  /** Resolves with what came, and was not pulled, once nothing more comes. */
  readonly close: () => Promise<readonly Msg[]>
}

/** Messages and bytes asked for at a time: the server sends them in one go, and takes who is too slow for gone. */
const MAX_MESSAGES = 1000
const MAX_BYTES = 1024 * 1024
/** How often the server says that it is still there, while it has no messages. */
const HEARTBEAT_MS = 5000
const LATE_MS: number = 2.2 * HEARTBEAT_MS
const NANOS = 1e6

export function createPuller(session: Session, stream: string, consumer: string): Puller {
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
  const inbox = session.createInbox()
  const stop = session.listen(`${inbox}.*`, receive)
  const forget = session.onSettled(() => end('over'))
  const messages: Msg[] = []
  let number = 0
  let asked: PullRequest | undefined
  let isClosed = false
  let settle: ((end: Pulled['end'] | Error) => void) | undefined
  let lastSeenMs = 0
  /** Why nothing can be heard. */
  let refusal: Error | undefined

  const watch: Timed = {
    deadlineMs: 0,
    timedNext: undefined,
    timedPrev: undefined,
    onDeadline() {
      const leftMs = lastSeenMs + LATE_MS - performance.now()
      if (leftMs > 0) deadlines.add(watch, leftMs)
      else end('gone')
    },
  }

  function end(how: Pulled['end'] | Error): void {
    deadlines.remove(watch)
    settle?.(how)
  }

  function receive(error: Error | null, message: Msg): void {
    if (error !== null) {
      refusal = notPermitted(error.message)
      end(refusal)
      return
    }
    lastSeenMs = performance.now()
    if (isAckSubject(message.reply ?? '')) {
      messages.push(message)
      if (asked !== undefined && messages.length >= asked.limit) end('done')
    } else if (message.subject === `${inbox}.${number}`) {
      receiveStatus(message.headers?.code ?? 0, message.headers?.description ?? '')
    }
  }

  /** How the server ends a request that has not as many messages as it asked for (ADR-13). */
  function receiveStatus(code: number, text: string): void {
    // A batch that is complete ends with the last of its messages: in a cluster they may still be on their way.
    if (code === 100 || asked === undefined || /Batch Completed/i.test(text)) return
    if (code === 404 || (code === 408 && /Timeout/i.test(text))) end('done')
    else if (code === 408 || /MaxWaiting|Leadership|Shutdown/i.test(text)) end('busy')
    else if (/Deleted/i.test(text) || code === 503) end('gone')
    else if (!/MaxBytes/i.test(text))
      end(eventsUnavailable(new Error(`pulling failed: ${code} ${text}`)))
    else if (messages.length > 0) end('done')
    else sendForOne()
  }

  /** The next message is longer than what was asked for: it comes alone. */
  function sendForOne(): void {
    asked = { ...asked!, limit: 1 }
    send({ batch: 1 })
  }

  function send(request: { readonly batch: number; readonly max_bytes?: number }): void {
    const waitMs = asked!.waitMs
    // The server takes no more than half of what it waits.
    const idleMs = Math.min(HEARTBEAT_MS, Math.floor(waitMs / 3))
    const waits = waitMs > 0 && { expires: waitMs * NANOS, idle_heartbeat: idleMs * NANOS }
    number++
    const body = JSON.stringify({ ...request, ...waits, no_wait: true })
    session.tell({ subject, body }, `${inbox}.${number}`)
  }

  function take(limit: number): readonly Msg[] {
    return messages.splice(0, limit)
  }

  return {
    pull: (request) =>
      new Promise((resolve, reject) => {
        asked = { ...request, limit: Math.min(request.limit, MAX_MESSAGES) }
        const { limit } = asked
        settle = (end) => {
          settle = undefined
          asked = undefined
          if (end instanceof Error) reject(end)
          else resolve({ messages: take(limit), end })
        }
        lastSeenMs = performance.now()
        if (refusal !== undefined) end(refusal)
        else if (isClosed || session.isOver) end('over')
        // Those of a request that had ended before they came.
        else if (messages.length > 0) end('done')
        else {
          deadlines.add(watch, LATE_MS)
          send({ batch: limit, max_bytes: Math.min(request.maxBytes, MAX_BYTES) })
        }
      }),

    async close() {
      isClosed = true
      forget()
      await stop()
      const left = take(messages.length)
      end('over')
      return left
    },
  }
}

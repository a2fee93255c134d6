import type { Msg } from '@nats-io/transport-node'
import { deadlines, type Timed } from '../../../../core/rpc/deadlines.ts'
import { eventsUnavailable } from '../../../../domain/events/errors.ts'
import { notPermitted } from '../errors.ts'
import type { Session } from '../session.ts'
import { isAckSubject } from './ack-subject.ts'

export interface PullRequest {
  readonly limit: number
  /** Maximum bytes of all messages including headers; a single message may be larger. */
  readonly maxBytes: number
  /** Maximum wait for a message in milliseconds; 0 returns only available messages. */
  readonly waitMs: number
}

/** Result of a pull. */
export interface Pulled {
  readonly messages: readonly Msg[]
  /**
   * `done`: complete, or no more messages for now. `busy`: other pulls compete. `gone`: the
   * consumer or stream was deleted or does not respond. `closed`: the session ended or the puller was
   * closed.
   */
  readonly end: 'done' | 'busy' | 'gone' | 'closed'
}

/** Pulls messages of one consumer, one request at a time. */
export interface Puller {
  /** @throws {GatewayError} 403, 503 */
  readonly pull: (request: PullRequest) => Promise<Pulled>
  /** Resolves with received but undelivered messages once no more arrive. */
  readonly close: () => Promise<readonly Msg[]>
}

/**
 * Maximum number of messages per request. The server sends them all immediately and disconnects
 * slow consumers.
 */
const MAX_MESSAGES = 1000
const MAX_BYTES = 1024 * 1024
/** Idle heartbeat interval of a request. */
const HEARTBEAT_MS = 5000
const LATE_MS: number = 2.2 * HEARTBEAT_MS
const NANOS = 1e6

export function createPuller(session: Session, stream: string, consumer: string): Puller {
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`
  const inbox = session.createInbox()
  const stop = session.listen(`${inbox}.*`, receive)
  const unsubscribe = session.onSettled(() => end('closed'))
  const messages: Msg[] = []
  let number = 0
  let pending: PullRequest | undefined
  let isClosed = false
  let settle: ((end: Pulled['end'] | Error) => void) | undefined
  let lastSeenMs = 0
  /** Permission error of the subscription. */
  let denial: Error | undefined

  const watch: Timed = {
    deadlineMs: 0,
    timedNext: undefined,
    timedPrev: undefined,
    onDeadline() {
      const remainingMs = lastSeenMs + LATE_MS - performance.now()
      if (remainingMs > 0) deadlines.add(watch, remainingMs)
      else end('gone')
    },
  }

  function end(reason: Pulled['end'] | Error): void {
    deadlines.remove(watch)
    settle?.(reason)
  }

  function receive(error: Error | null, message: Msg): void {
    if (error !== null) {
      denial = notPermitted(error.message)
      end(denial)
      return
    }
    lastSeenMs = performance.now()
    if (isAckSubject(message.reply ?? '')) {
      messages.push(message)
      if (pending !== undefined && messages.length >= pending.limit) end('done')
    } else if (message.subject === `${inbox}.${number}`) {
      receiveStatus(message.headers?.code ?? 0, message.headers?.description ?? '')
    }
  }

  /** Handles the status that ends an incomplete request (ADR-13). */
  function receiveStatus(code: number, text: string): void {
    // A complete batch ends with its last message, which may arrive after this status in a cluster.
    if (code === 100 || pending === undefined || /Batch Completed/i.test(text)) return
    if (code === 404 || (code === 408 && /Timeout/i.test(text))) end('done')
    else if (code === 408 || /MaxWaiting|Leadership|Shutdown/i.test(text)) end('busy')
    else if (/Deleted/i.test(text) || code === 503) end('gone')
    else if (!/MaxBytes/i.test(text))
      end(eventsUnavailable(new Error(`pulling failed: ${code} ${text}`)))
    else if (messages.length > 0) end('done')
    else sendForOne()
  }

  /** Requests the next message alone because it exceeds the requested size. */
  function sendForOne(): void {
    pending = { ...pending!, limit: 1 }
    send({ batch: 1 })
  }

  function send(request: { readonly batch: number; readonly max_bytes?: number }): void {
    const waitMs = pending!.waitMs
    // The server limits the heartbeat to half of the wait time.
    const idleMs = Math.min(HEARTBEAT_MS, Math.floor(waitMs / 3))
    const waitOptions = waitMs > 0 && { expires: waitMs * NANOS, idle_heartbeat: idleMs * NANOS }
    number++
    const body = JSON.stringify({ ...request, ...waitOptions, no_wait: true })
    session.publish({ subject, body }, `${inbox}.${number}`)
  }

  function take(limit: number): readonly Msg[] {
    return messages.splice(0, limit)
  }

  return {
    pull: (request) =>
      new Promise((resolve, reject) => {
        pending = { ...request, limit: Math.min(request.limit, MAX_MESSAGES) }
        const { limit } = pending
        settle = (end) => {
          settle = undefined
          pending = undefined
          if (end instanceof Error) reject(end)
          else resolve({ messages: take(limit), end })
        }
        lastSeenMs = performance.now()
        if (denial !== undefined) end(denial)
        else if (isClosed || session.isEnded) end('closed')
        // The messages belong to an earlier request.
        else if (messages.length > 0) end('done')
        else {
          deadlines.add(watch, LATE_MS)
          send({ batch: limit, max_bytes: Math.min(request.maxBytes, MAX_BYTES) })
        }
      }),

    async close() {
      isClosed = true
      unsubscribe()
      await stop()
      const undelivered = take(messages.length)
      end('closed')
      return undelivered
    },
  }
}

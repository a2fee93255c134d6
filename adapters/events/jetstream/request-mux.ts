import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { notPermitted } from './errors.ts'

/** A message to publish. */
export interface Outgoing {
  readonly subject: string
  readonly body?: Uint8Array | string
  readonly headers?: MsgHdrs
}

/** Multiplexes requests over one connection, with one timer for all timeouts. */
export interface RequestMux {
  /** @throws {GatewayError} 403, 503 */
  readonly request: (outgoing: Outgoing) => Promise<Msg>
  /** Rejects all pending requests on connection loss. */
  readonly end: (cause: unknown) => void
}

interface PendingRequest extends Timed {
  readonly subject: string
  readonly resolve: (message: Msg) => void
  readonly reject: (error: Error) => void
}

/** @param inbox prefix of the reply subjects. */
export function createRequestMux(
  connection: NatsConnection,
  inbox: string,
  timeoutMs: number,
): RequestMux {
  const start = `${inbox}.`
  const pending = new Map<number, PendingRequest>()
  /** Set when no more requests can be sent. */
  let failure: Error | undefined
  let tokens = 0

  function settle(token: number): PendingRequest | undefined {
    const entry = pending.get(token)
    if (entry === undefined) return undefined
    pending.delete(token)
    deadlines.remove(entry)
    return entry
  }

  function failAll(error: Error, subject?: string): void {
    for (const [token, entry] of pending)
      if (subject === undefined || subject === entry.subject) settle(token)?.reject(error)
  }

  function end(error: Error): void {
    failure = error
    failAll(error)
  }

  /** Rejects requests, identified by subject, that the server denies asynchronously. */
  async function watchDenials(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type !== 'error' || status.error.name !== 'PermissionViolationError') continue
      const { message, operation, subject } = status.error as Error & Record<string, unknown>
      if (operation === 'publish') failAll(notPermitted(message), String(subject))
    }
  }
  void watchDenials()

  connection.subscribe(`${start}*`, {
    callback(error, message) {
      if (error !== null) end(notPermitted(error.message))
      else settle(Number(message.subject.slice(start.length)))?.resolve(message)
    },
  })

  return {
    request: ({ subject, body, headers }) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) {
          reject(failure)
          return
        }
        const token = ++tokens
        const entry: PendingRequest = {
          subject,
          resolve,
          reject,
          deadlineMs: 0,
          timedNext: undefined,
          timedPrev: undefined,
          onDeadline() {
            pending.delete(token)
            reject(eventsUnavailable(new Error(`NATS did not respond within ${timeoutMs} ms`)))
          },
        }
        pending.set(token, entry)
        deadlines.add(entry, timeoutMs)
        try {
          const reply = start + token
          connection.publish(subject, body, { reply, ...(headers !== undefined && { headers }) })
        } catch (error) {
          settle(token)
          reject(eventsUnavailable(error))
        }
      }),

    end: (cause) => end(eventsUnavailable(cause ?? new Error('the connection was closed'))),
  }
}

import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { deadlines, type Timed } from '../../../core/rpc/deadlines.ts'
import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { notPermitted } from './errors.ts'

/** What is sent to a subject. */
export interface Outgoing {
  readonly subject: string
  readonly body?: Uint8Array | string
  readonly headers?: MsgHdrs
}

/** Questions over a connection, each with its answer: many at a time, of which none has a timer of its own. */
export interface RequestMux {
  /** @throws {GatewayError} 403, 503 */
  readonly ask: (outgoing: Outgoing) => Promise<Msg>
  /** The connection is lost. */
  readonly end: (cause: unknown) => void
}

/** Somebody who waits for an answer. */
interface Asked extends Timed {
  readonly subject: string
  readonly resolve: (message: Msg) => void
  readonly reject: (error: Error) => void
}

/** @param inbox where nobody else gets answers. */
export function createRequestMux(
  connection: NatsConnection,
  inbox: string,
  timeoutMs: number,
): RequestMux {
  const start = `${inbox}.`
  const asked = new Map<number, Asked>()
  /** Why nothing can be asked any more. */
  let failure: Error | undefined
  let tokens = 0

  function settle(token: number): Asked | undefined {
    const one = asked.get(token)
    if (one === undefined) return undefined
    asked.delete(token)
    deadlines.remove(one)
    return one
  }

  function failAll(error: Error, subject?: string): void {
    for (const [token, one] of asked)
      if (subject === undefined || subject === one.subject) settle(token)?.reject(error)
  }

  function end(error: Error): void {
    failure = error
    failAll(error)
  }

  /** The server says behind a call that it does not permit it, naming the subject. */
  async function watchRefusals(): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type !== 'error' || status.error.name !== 'PermissionViolationError') continue
      const { message, operation, subject } = status.error as Error & Record<string, unknown>
      if (operation === 'publish') failAll(notPermitted(message), String(subject))
    }
  }
  void watchRefusals()

  connection.subscribe(`${start}*`, {
    callback(error, message) {
      if (error !== null) end(notPermitted(error.message))
      else settle(Number(message.subject.slice(start.length)))?.resolve(message)
    },
  })

  return {
    ask: ({ subject, body, headers }) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) {
          reject(failure)
          return
        }
        const token = ++tokens
        const one: Asked = {
          subject,
          resolve,
          reject,
          deadlineMs: 0,
          timedNext: undefined,
          timedPrev: undefined,
          onDeadline() {
            asked.delete(token)
            reject(eventsUnavailable(new Error(`NATS did not answer within ${timeoutMs} ms`)))
          },
        }
        asked.set(token, one)
        deadlines.add(one, timeoutMs)
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

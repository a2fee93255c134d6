import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { createRequestMux, type Outgoing, type RequestMux } from './request-mux.ts'

/** @param error the server does not permit to listen. */
export type Listener = (error: Error | null, message: Msg) => void
/** Resolves when the server sends nothing more, and what it had sent is there; or when it does not answer. */
export type StopListening = () => Promise<void>

/** JetStream over one connection, as long as that stands. */
export interface Session
  extends Pick<JetStreamManager, 'streams' | 'consumers'>,
    Pick<RequestMux, 'ask'> {
  /** The connection is lost: what had no answer may have been done or not. */
  readonly isOver: boolean
  /** Whether the server belongs to a cluster, others of which may keep what it does. */
  readonly isClustered: boolean
  /** Longest message, bytes, with its headers. */
  readonly maxMessageBytes: number
  /** Streams that are there, as far as is known. */
  readonly known: Set<string>
  /** Sends; nothing, when the session is over. @param reply who gets the answer. */
  readonly tell: (outgoing: Outgoing, reply?: string) => void
  /** A subject, that of nobody else; with more behind it, what is sent there is heard by who listens to `<inbox>.*`. */
  readonly createInbox: () => string
  readonly listen: (subject: string, listener: Listener) => StopListening
  /** Told once when it is over, at once if it is. @returns how not to be. */
  readonly onSettled: (tell: () => void) => () => void
}

/** The library's parts that a session needs. */
export interface Libraries {
  readonly createInbox: () => string
  readonly createManager: (connection: NatsConnection) => Promise<JetStreamManager>
}

export async function createSession(
  connection: NatsConnection,
  { createInbox, createManager }: Libraries,
  timeoutMs: number,
): Promise<Session> {
  const { streams, consumers } = await createManager(connection)
  const inbox = createInbox()
  const { ask, end } = createRequestMux(connection, `${inbox}.0`, timeoutMs)
  const leaving = new Set<() => void>()
  let isOver = false
  let inboxes = 0

  void connection.closed().then((error) => {
    isOver = true
    end(error)
    for (const tell of leaving) tell()
    leaving.clear()
  })

  return {
    streams,
    consumers,
    known: new Set(),
    isClustered: connection.info?.cluster !== undefined,
    maxMessageBytes: connection.info?.max_payload ?? 1024 * 1024,
    ask,

    get isOver() {
      return isOver
    },

    tell({ subject, body, headers }, reply) {
      try {
        connection.publish(subject, body, {
          ...(headers !== undefined && { headers }),
          ...(reply !== undefined && { reply }),
        })
      } catch {
        // It is closing.
      }
    },

    createInbox: () => `${inbox}.${++inboxes}`,

    listen(subject, callback) {
      const subscription = connection.subscribe(subject, { callback })
      return () =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, timeoutMs)
          const drained = isOver ? Promise.resolve() : subscription.drain().catch(() => {})
          void drained.then(() => {
            clearTimeout(timer)
            resolve()
          })
        })
    },

    onSettled(tell) {
      if (isOver) tell()
      else leaving.add(tell)
      return () => leaving.delete(tell)
    },
  }
}

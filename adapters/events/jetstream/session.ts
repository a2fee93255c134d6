import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { type Asks, createAsks, type Outgoing } from './asks.ts'

/** Messages of an inbox of one's own. */
export interface Listening {
  /** What is sent to `<inbox>.<anything>` arrives. */
  readonly inbox: string
  /** Resolves when the server sends nothing more, and what it had sent is there. */
  readonly stop: () => Promise<void>
}

/** JetStream over one connection, as long as that stands. */
export interface Session
  extends Pick<JetStreamManager, 'streams' | 'consumers'>,
    Pick<Asks, 'ask'> {
  /** The connection is lost: what had no answer may have been done or not. */
  readonly isOver: boolean
  /** Longest message, bytes, with its headers. */
  readonly maxMessageBytes: number
  /** Streams that are there, as far as is known. */
  readonly known: Set<string>
  /** Sends; nothing, when the session is over. @param reply who gets the answer. */
  readonly tell: (outgoing: Outgoing, reply?: string) => void
  /** @param callback has an error when the server does not permit to listen. */
  readonly listen: (callback: (error: Error | null, message: Msg) => void) => Listening
  /** Told once when it is over. @returns how not to be. */
  readonly onOver: (tell: () => void) => () => void
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
  const { ask, end } = createAsks(connection, `${inbox}.0`, timeoutMs)
  const leaving = new Set<() => void>()
  let isOver = false
  let listeners = 0

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

    listen(callback) {
      const own = `${inbox}.${++listeners}`
      const subscription = connection.subscribe(`${own}.*`, { callback })
      return {
        inbox: own,
        async stop() {
          if (!isOver) await subscription.drain().catch(() => {})
        },
      }
    },

    onOver(tell) {
      leaving.add(tell)
      return () => leaving.delete(tell)
    },
  }
}

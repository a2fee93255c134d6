import type { JetStreamManager } from '@nats-io/jetstream'
import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { createRequestMux, type Outgoing, type RequestMux } from './request-mux.ts'

/** @param error set if the server denies the subscription. */
export type Listener = (error: Error | null, message: Msg) => void
/**
 * Resolves when the server has stopped sending and everything it sent has arrived, or after the
 * timeout.
 */
export type StopListening = () => Promise<void>

/** JetStream over one connection. */
export interface Session
  extends Pick<JetStreamManager, 'streams' | 'consumers'>,
    Pick<RequestMux, 'request'> {
  /** True once the connection is lost. Requests without a response may have been processed. */
  readonly isEnded: boolean
  /** Whether the server belongs to a cluster. */
  readonly isClustered: boolean
  /** Maximum message size in bytes including headers. */
  readonly maxMessageBytes: number
  /** Streams known to exist. */
  readonly knownStreams: Set<string>
  /**
   * Publishes without waiting for a response. No-op once the session has ended.
   *
   * @param reply reply subject.
   */
  readonly publish: (outgoing: Outgoing, reply?: string) => void
  /** Creates a unique subject; `<inbox>.*` receives its replies. */
  readonly createInbox: () => string
  readonly listen: (subject: string, listener: Listener) => StopListening
  /**
   * Calls `onEnd` once when the session ends, or immediately if it has already ended.
   *
   * @returns a function that unsubscribes.
   */
  readonly onSettled: (onEnd: () => void) => () => void
}

/** Parts of the library that a session needs. */
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
  const { request, end } = createRequestMux(connection, `${inbox}.0`, timeoutMs)
  const endListeners = new Set<() => void>()
  let isEnded = false
  let inboxes = 0

  void connection.closed().then((error) => {
    isEnded = true
    end(error)
    for (const onEnd of endListeners) onEnd()
    endListeners.clear()
  })

  return {
    streams,
    consumers,
    knownStreams: new Set(),
    isClustered: connection.info?.cluster !== undefined,
    maxMessageBytes: connection.info?.max_payload ?? 1024 * 1024,
    request,

    get isEnded() {
      return isEnded
    },

    publish({ subject, body, headers }, reply) {
      try {
        connection.publish(subject, body, {
          ...(headers !== undefined && { headers }),
          ...(reply !== undefined && { reply }),
        })
      } catch {
        // The connection is closing.
      }
    },

    createInbox: () => `${inbox}.${++inboxes}`,

    listen(subject, callback) {
      const subscription = connection.subscribe(subject, { callback })
      return () =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, timeoutMs)
          const drained = isEnded ? Promise.resolve() : subscription.drain().catch(() => {})
          void drained.then(() => {
            clearTimeout(timer)
            resolve()
          })
        })
    },

    onSettled(onEnd) {
      if (isEnded) onEnd()
      else endListeners.add(onEnd)
      return () => endListeners.delete(onEnd)
    },
  }
}

import { eventsUnavailable } from '../../../domain/events/errors.ts'
import { createNatsLink, type NatsLinkOptions } from '../../nats/connection.ts'
import { toFailure } from './errors.ts'
import { createSession, type Libraries, type Session } from './session.ts'

export type SessionsOptions = Omit<NatsLinkOptions, 'onUp' | 'onDown'>

/** JetStream sessions across reconnects. */
export interface Sessions {
  readonly current: Session | undefined
  /** Returns the session after the first connection attempt. @throws {GatewayError} 503 */
  readonly open: () => Promise<Session>
  /** Waits for a session. Returns undefined on timeout or if closed. */
  readonly wait: (ms: number) => Promise<Session | undefined>
  /**
   * Runs an operation in a session. If the session is lost in the meantime, the operation is
   * repeated once in the next session.
   *
   * @param run may be called twice.
   * @throws {GatewayError}
   */
  readonly use: <T>(run: (session: Session) => Promise<T>) => Promise<T>
  /**
   * Settles when each server has been tried once.
   *
   * @throws {Error} with `denied` set if a server rejected the connection.
   */
  readonly tried: Promise<void>
  readonly close: () => Promise<void>
}

export function createSessions(options: SessionsOptions): Sessions {
  const { timeoutMs = 5000 } = options
  const loading = load(timeoutMs)
  const waiting = new Set<(session: Session | undefined) => void>()
  let opening: Promise<Session> | undefined
  let current: Session | undefined
  let isClosed = false

  const link = createNatsLink({
    ...options,
    onUp(connection) {
      const next = loading.then((libraries) => createSession(connection, libraries, timeoutMs))
      opening = next
      next.then(
        (session) => {
          if (session.isEnded) return
          current = session
          wake(session)
        },
        // Callers receive the error from `open`.
        () => {},
      )
    },
  })
  loading.catch(() => {})

  function wake(session: Session | undefined): void {
    for (const onEnd of waiting) onEnd(session)
    waiting.clear()
  }

  function find(): Session | undefined {
    return isClosed || current?.isEnded === true ? undefined : current
  }

  async function open(): Promise<Session> {
    const session = find()
    if (session !== undefined) return session
    try {
      await link.open()
      const opened = await opening!
      if (!opened.isEnded && !isClosed) return opened
    } catch (error) {
      throw toFailure(error)
    }
    throw eventsUnavailable(new Error('the connection is lost'))
  }

  function wait(ms: number): Promise<Session | undefined> {
    const session = find()
    if (session !== undefined || isClosed) return Promise.resolve(session)
    return new Promise((resolve) => {
      const end = (session: Session | undefined): void => {
        clearTimeout(timer)
        waiting.delete(end)
        resolve(session)
      }
      const timer = setTimeout(end, ms, undefined).unref()
      waiting.add(end)
    })
  }

  return {
    get current() {
      return find()
    },
    open,
    wait,
    tried: link.tried,

    async use(run) {
      const session = await open()
      try {
        return await run(session)
      } catch (error) {
        const next = session.isEnded ? await wait(timeoutMs) : undefined
        if (next === undefined) throw toFailure(error)
        return run(next).catch((error) => {
          throw toFailure(error)
        })
      }
    },

    close() {
      isClosed = true
      wake(undefined)
      return link.close()
    },
  }
}

async function load(timeout: number): Promise<Libraries> {
  const [{ createInbox }, { jetstreamManager }] = await Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/jetstream'),
  ])
  return {
    createInbox,
    createManager: (connection) => jetstreamManager(connection, { checkAPI: false, timeout }),
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import type { Msg } from '@nats-io/transport-node'
import type { EventDelivery, EventMember } from '../../../../core/contracts/events.ts'
import type { GatewayError } from '../../../../core/errors.ts'
import { createBackOff } from '../../../../lib/async/backoff.ts'
import type { Maybe } from '../../../../lib/async/maybe.ts'
import { toFailure } from '../errors.ts'
import type { Session } from '../session.ts'
import type { Sessions } from '../sessions.ts'
import type { Puller } from './puller.ts'

/** Messages of a consumer in one session. */
export interface Attached extends Puller {
  readonly session: Session
  /** Returns undefined for a message that the member skips. */
  readonly toDelivery: (message: Msg) => EventDelivery | undefined
}

export interface MemberOptions {
  readonly sessions: Sessions
  readonly attached: Attached
  /**
   * Attaches to the consumer in another session, or after it may have been deleted.
   *
   * @throws {GatewayError} 410
   */
  readonly attach: (session: Session) => Promise<Attached>
  /** Returns undelivered messages to the consumer. */
  readonly giveBack: (messages: readonly Msg[]) => Promise<void>
  /** Called when pulling has stopped; twice if the member leaves while it attaches. */
  readonly onLeave: () => Maybe<void>
}

export interface JetMember extends EventMember {
  /** Rejects pending and future pulls. */
  readonly fail: (error: GatewayError) => void
}

/** Maximum wait of a pull for events or for a session. */
const WAIT_MS = 30_000
const LOST_MS = 1000
/** Maximum pause after a failure. */
const PAUSE_MS = 1000

/** Creates a member of a group that continues across sessions. */
export function createMember(options: MemberOptions): JetMember {
  const { sessions, attach, giveBack, onLeave } = options
  let { attached } = options
  let isAttached = true
  let failure: GatewayError | undefined
  let leaving: Promise<void> | undefined
  const backOff = createBackOff()

  async function pause(): Promise<void> {
    await delay(Math.min(backOff.next(), PAUSE_MS), undefined, { ref: false })
  }

  async function end(): Promise<void> {
    await giveBack(await attached.close())
    await onLeave()
  }

  async function attachTo(session: Session): Promise<void> {
    if (isAttached && attached.session === session) return
    isAttached = false
    const old = attached
    attached = await attach(session)
    isAttached = true
    await giveBack(await old.close())
    if (leaving !== undefined) await end()
  }

  /** Returns undefined if there are no events yet. */
  async function pullFrom(
    session: Session,
    limit: number,
    maxBytes: number,
  ): Promise<readonly EventDelivery[] | undefined> {
    await attachTo(session)
    if (leaving !== undefined) return undefined
    const { pull, toDelivery } = attached
    const { messages, end } = await pull({ limit, maxBytes, waitMs: WAIT_MS })
    if (failure !== undefined) throw failure
    if (messages.length > 0) backOff.reset()
    const deliveries = messages.map(toDelivery).filter((delivery) => delivery !== undefined)
    if (end === 'gone') isAttached = false
    if (end === 'busy' && deliveries.length === 0) await pause()
    return deliveries.length > 0 ? deliveries : undefined
  }

  return {
    async pull(limit, maxBytes) {
      const endMs = performance.now() + WAIT_MS
      while (leaving === undefined) {
        if (failure !== undefined) throw failure
        const session = await sessions.wait(LOST_MS)
        try {
          const deliveries = session && (await pullFrom(session, limit, maxBytes))
          if (deliveries !== undefined) return deliveries
        } catch (error) {
          const { code } = toFailure(error)
          if (code !== 503) throw toFailure(error)
          isAttached = false
          await pause()
        }
        if (performance.now() > endMs) break
      }
      return []
    },

    leave() {
      leaving ??= end()
      return leaving
    },

    fail(error) {
      failure = error
      void attached.close()
    },
  }
}

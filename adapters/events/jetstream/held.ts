import type { JetDelivery } from './delivery.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

const NANOS = 1e6

/** What a member has pulled, has not acknowledged, and is in time. */
export interface Held {
  readonly add: (delivery: JetDelivery) => void
  /** False: it is not held any more. */
  readonly remove: (delivery: JetDelivery) => boolean
  /** The delivery may be pulled again; nothing, when it is not held any more. What the server does not hear of comes again in its time. */
  readonly refuse: (delivery: JetDelivery, delayMs: number) => Promise<void>
  /** All may be pulled again, and so may messages that nobody has got. */
  readonly refuseAll: (replies: readonly string[]) => Promise<void>
}

export function createHeld(sessions: Sessions, ackWaitMs: number): Held {
  /** With when their time is over, those first that were pulled first. */
  const held = new Map<JetDelivery, number>()

  function letGoOfLate(): void {
    const nowMs = performance.now()
    for (const [delivery, untilMs] of held) {
      if (untilMs > nowMs) return
      held.delete(delivery)
    }
  }

  return {
    add(delivery) {
      letGoOfLate()
      held.set(delivery, performance.now() + ackWaitMs)
    },

    remove(delivery) {
      letGoOfLate()
      return held.delete(delivery)
    },

    async refuse(delivery, delayMs) {
      letGoOfLate()
      const { current } = sessions
      if (held.delete(delivery) && current !== undefined)
        await nak(current, delivery.reply, delayMs)
    },

    async refuseAll(replies) {
      letGoOfLate()
      const all = [...[...held.keys()].map(({ reply }) => reply), ...replies]
      held.clear()
      const { current } = sessions
      if (current !== undefined) await Promise.all(all.map((reply) => nak(current, reply, 0)))
    },
  }
}

/** Resolves when the consumer knows. */
async function nak(session: Session, reply: string, delayMs: number): Promise<void> {
  const body = delayMs > 0 ? `-NAK {"delay": ${delayMs * NANOS}}` : '-NAK'
  await session.ask({ subject: reply, body }).catch(() => {})
}

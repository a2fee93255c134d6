import type { Msg } from '@nats-io/transport-node'
import type { JetDelivery } from './consumers/delivery.ts'
import type { Sessions } from './sessions.ts'

const NANOS = 1e6

/** What a member has pulled, has not acknowledged, and is in time. */
export interface InFlight {
  readonly add: (delivery: JetDelivery) => void
  /** False: it is not held any more. */
  readonly remove: (delivery: JetDelivery) => boolean
  /** The delivery may be pulled again; nothing, when it is not held any more. What the server does not hear of comes again in its time. */
  readonly refuse: (delivery: JetDelivery, delayMs: number) => Promise<void>
  /** All may be pulled again. */
  readonly refuseAll: () => Promise<void>
  /** Nothing is held any more, and the server is told of none. */
  readonly forgetAll: () => void
  /** Messages that nobody has got may be pulled again. */
  readonly giveBack: (messages: readonly Msg[]) => Promise<void>
}

export function createInFlight(sessions: Sessions, ackWaitMs: number): InFlight {
  /** With when their time is over, those first that were pulled first. */
  const held = new Map<JetDelivery, number>()

  function letGoOfLate(): void {
    const nowMs = performance.now()
    for (const [delivery, untilMs] of held) {
      if (untilMs > nowMs) return
      held.delete(delivery)
    }
  }

  /** Resolves when the consumer knows. */
  async function nakAll(replies: readonly string[], delayMs = 0): Promise<void> {
    const { current } = sessions
    if (current === undefined) return
    const body = delayMs > 0 ? `-NAK {"delay": ${Math.round(delayMs * NANOS)}}` : '-NAK'
    await Promise.all(replies.map((subject) => current.ask({ subject, body }).catch(() => {})))
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
      if (held.delete(delivery)) await nakAll([delivery.reply], delayMs)
    },

    async refuseAll() {
      letGoOfLate()
      // They come again in the order in which the consumer hears of them.
      const deliveries = [...held.keys()].sort((a, b) => a.event.sequence - b.event.sequence)
      held.clear()
      await nakAll(deliveries.map(({ reply }) => reply))
    },

    forgetAll: () => held.clear(),

    giveBack: (messages) => nakAll(messages.map(({ reply }) => reply ?? '')),
  }
}

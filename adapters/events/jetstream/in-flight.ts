import type { Msg } from '@nats-io/transport-node'
import type { JetDelivery } from './consumers/delivery.ts'
import type { Sessions } from './sessions.ts'

const NANOS = 1e6

/** Pulled deliveries of a member that are neither acknowledged nor expired. */
export interface InFlight {
  readonly add: (delivery: JetDelivery) => void
  /** Returns false if the delivery has expired. */
  readonly remove: (delivery: JetDelivery) => boolean
  /**
   * Makes a delivery available again unless it has expired. Without a connection, it is redelivered
   * after the ack timeout.
   */
  readonly nack: (delivery: JetDelivery, delayMs: number) => Promise<void>
  /** Makes all deliveries available again. */
  readonly nackAll: () => Promise<void>
  /** Drops all deliveries without notifying the server. */
  readonly forgetAll: () => void
  /** Makes undelivered messages available again. */
  readonly giveBack: (messages: readonly Msg[]) => Promise<void>
}

export function createInFlight(sessions: Sessions, ackWaitMs: number): InFlight {
  /** Expiry by delivery, oldest first. */
  const pending = new Map<JetDelivery, number>()

  function dropExpired(): void {
    const nowMs = performance.now()
    for (const [delivery, untilMs] of pending) {
      if (untilMs > nowMs) return
      pending.delete(delivery)
    }
  }

  /** Resolves when the consumer has confirmed. */
  async function nakAll(replies: readonly string[], delayMs = 0): Promise<void> {
    const { current } = sessions
    if (current === undefined) return
    const body = delayMs > 0 ? `-NAK {"delay": ${Math.round(delayMs * NANOS)}}` : '-NAK'
    await Promise.all(replies.map((subject) => current.request({ subject, body }).catch(() => {})))
  }

  return {
    add(delivery) {
      dropExpired()
      pending.set(delivery, performance.now() + ackWaitMs)
    },

    remove(delivery) {
      dropExpired()
      return pending.delete(delivery)
    },

    async nack(delivery, delayMs) {
      dropExpired()
      if (pending.delete(delivery)) await nakAll([delivery.reply], delayMs)
    },

    async nackAll() {
      dropExpired()
      // Events are redelivered in the order of the nacks.
      const deliveries = [...pending.keys()].sort((a, b) => a.event.sequence - b.event.sequence)
      pending.clear()
      await nakAll(deliveries.map(({ reply }) => reply))
    },

    forgetAll: () => pending.clear(),

    giveBack: (messages) => nakAll(messages.map(({ reply }) => reply ?? '')),
  }
}

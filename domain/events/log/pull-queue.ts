import type { EventDelivery } from '../../../core/contracts/events.ts'

/** Takes the available events for a member. There may be none. */
export type Pull<M> = (member: M, limit: number, maxBytes: number) => readonly EventDelivery[]

/** Members waiting for events, longest wait first. */
export interface Pulls<M> {
  readonly pull: (member: M, limit: number, maxBytes: number) => Promise<readonly EventDelivery[]>
  /** Called when events may be available. */
  readonly wake: () => void
  /** Cancels the wait of a member, which receives no events. */
  readonly leave: (member: M) => void
  /** Cancels all waits. */
  readonly fail: (error: Error) => void
}

interface Waiting<M> {
  readonly member: M
  readonly limit: number
  readonly maxBytes: number
  readonly resolve: (deliveries: readonly EventDelivery[]) => void
  readonly reject: (error: unknown) => void
}

export function createPulls<M>(take: Pull<M>): Pulls<M> {
  let waiting: Waiting<M>[] = []

  return {
    pull: (member, limit, maxBytes) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) {
          const deliveries = take(member, limit, maxBytes)
          if (deliveries.length > 0) {
            resolve(deliveries)
            return
          }
        }
        waiting.push({ member, limit, maxBytes, resolve, reject })
      }),

    wake() {
      while (waiting.length > 0) {
        const { member, limit, maxBytes, resolve, reject } = waiting[0]!
        try {
          const deliveries = take(member, limit, maxBytes)
          if (deliveries.length === 0) return
          waiting.shift()
          resolve(deliveries)
        } catch (error) {
          waiting.shift()
          reject(error)
        }
      }
    },

    leave(member) {
      const leaving = waiting.filter((entry) => entry.member === member)
      waiting = waiting.filter((entry) => entry.member !== member)
      for (const { resolve } of leaving) resolve([])
    },

    fail(error) {
      const failed = waiting
      waiting = []
      for (const { reject } of failed) reject(error)
    },
  }
}

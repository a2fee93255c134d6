import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Message, MessageHandler, Unsubscribe } from '../../../core/contracts/broker.ts'
import { brokerError } from '../../../domain/broker/errors.ts'
import type { NatsLink } from '../../nats/connection.ts'
import { readHeaders } from './headers.ts'

/** Subscriptions of this process across connections. */
export interface Subscriptions {
  /** Restores all subscriptions on a new connection. */
  readonly resubscribe: (connection: NatsConnection) => void
  /**
   * @throws {Error} if not connected.
   * @throws {GatewayError} 403 if the server denies the subject.
   */
  readonly subscribe: (
    subject: string,
    queue: string | undefined,
    handler: MessageHandler,
  ) => Promise<Unsubscribe>
}

/**
 * Subscription on the server, shared by all local subscribers of a subject, or used by one queue
 * member.
 */
interface SharedSubscription {
  readonly subject: string
  readonly queue: string | undefined
  /** Separate objects, so that the same function can subscribe twice. */
  readonly members: Set<{ readonly handler: MessageHandler }>
  active: Subscription | undefined
  denial: Error | undefined
  /** Settles when the current server has confirmed the subscription. */
  confirmed: Promise<void> | undefined
}

export function createSubscriptions(link: () => NatsLink): Subscriptions {
  const all = new Set<SharedSubscription>()
  /** Subscriptions without a queue, by subject. The server sends each message once per process. */
  const broadcast = new Map<string, SharedSubscription>()

  function activate(connection: NatsConnection, shared: SharedSubscription): void {
    const { subject, queue, members } = shared
    shared.active = connection.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback(error, received) {
        if (error !== null) {
          shared.denial = error
          return
        }
        // Copied because a view would retain the whole receive buffer.
        const message: Message = {
          headers: readHeaders(received),
          body: new Uint8Array(received.data),
        }
        for (const { handler } of members) void handler(message)
      },
    })
  }

  function find(subject: string, queue: string | undefined): SharedSubscription {
    const existing = queue === undefined ? broadcast.get(subject) : undefined
    if (existing !== undefined) return existing
    const shared: SharedSubscription = {
      subject,
      queue,
      members: new Set(),
      active: undefined,
      denial: undefined,
      confirmed: undefined,
    }
    if (queue === undefined) broadcast.set(subject, shared)
    all.add(shared)
    return shared
  }

  /** @throws {Error} on connection loss or if the server denies the subject. */
  async function confirm(shared: SharedSubscription): Promise<void> {
    await link().confirm()
    if (shared.denial !== undefined)
      throw brokerError(403, `NATS denied the subscription to ${shared.subject}`)
  }

  function begin(connection: NatsConnection, shared: SharedSubscription): void {
    shared.denial = undefined
    activate(connection, shared)
    shared.confirmed = confirm(shared)
    // Not awaited after a reconnect; the link reports denials.
    shared.confirmed.catch(() => {})
  }

  /** Returns true if the last member left and the server must be notified. */
  function leave(
    shared: SharedSubscription,
    member: { readonly handler: MessageHandler },
  ): boolean {
    if (!shared.members.delete(member) || shared.members.size > 0) return false
    all.delete(shared)
    if (broadcast.get(shared.subject) === shared) broadcast.delete(shared.subject)
    shared.active?.unsubscribe()
    return true
  }

  return {
    resubscribe(connection) {
      for (const shared of all) begin(connection, shared)
    },

    async subscribe(subject, queue, handler) {
      const connection = await link().open()
      const shared = find(subject, queue)
      const member = { handler }
      shared.members.add(member)
      try {
        if (shared.confirmed === undefined) begin(connection, shared)
        await shared.confirmed
      } catch (error) {
        leave(shared, member)
        throw error
      }
      return async () => {
        // Waits until the server delivers to the other members only. An unreachable server has
        // already dropped the subscription.
        if (leave(shared, member))
          await link()
            .confirm()
            .catch(() => {})
      }
    },
  }
}

import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Message, MessageHandler, Unsubscribe } from '../../../core/contracts/broker.ts'
import { rejectInput } from '../../../domain/broker/errors.ts'
import type { NatsLink } from '../../nats/connection.ts'
import { readHeaders } from './headers.ts'

/** What this process has subscribed to, whatever connection there is. */
export interface Subscriptions {
  /** A connection stands: subscribes anew. */
  readonly up: (connection: NatsConnection) => void
  /** @throws {Error} when there is no connection; {GatewayError} 403 when the server does not permit the subject. */
  readonly subscribe: (
    subject: string,
    queue: string | undefined,
    handler: MessageHandler,
  ) => Promise<Unsubscribe>
}

/** A subscription at the server: of one member of a queue, or of all here who want every message of a subject. */
interface Shared {
  readonly subject: string
  readonly queue: string | undefined
  /** Objects of their own, so that a function given twice is two subscribers. */
  readonly members: Set<{ readonly handler: MessageHandler }>
  active: Subscription | undefined
  refusal: Error | undefined
  /** Settles once the server of now has it. */
  confirmed: Promise<void> | undefined
}

export function createSubscriptions(link: () => NatsLink): Subscriptions {
  const all = new Set<Shared>()
  /** Those without a queue, by subject: the server sends each message once, however many want it here. */
  const alone = new Map<string, Shared>()

  function activate(connection: NatsConnection, shared: Shared): void {
    const { subject, queue, members } = shared
    shared.active = connection.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback(error, received) {
        if (error !== null) {
          shared.refusal = error
          return
        }
        // A copy: what else has come with it is not to be kept for as long as it waits.
        const message: Message = {
          headers: readHeaders(received),
          body: new Uint8Array(received.data),
        }
        for (const { handler } of members) void handler(message)
      },
    })
  }

  function find(subject: string, queue: string | undefined): Shared {
    const known = queue === undefined ? alone.get(subject) : undefined
    if (known !== undefined) return known
    const shared: Shared = {
      subject,
      queue,
      members: new Set(),
      active: undefined,
      refusal: undefined,
      confirmed: undefined,
    }
    if (queue === undefined) alone.set(subject, shared)
    all.add(shared)
    return shared
  }

  /** @throws {Error} when the connection breaks, or the server does not permit it. */
  async function confirm(shared: Shared): Promise<void> {
    await link().confirm()
    if (shared.refusal !== undefined)
      throw rejectInput(403, `NATS does not permit to subscribe to ${shared.subject}`)
  }

  function begin(connection: NatsConnection, shared: Shared): void {
    shared.refusal = undefined
    activate(connection, shared)
    shared.confirmed = confirm(shared)
    // Of one that begins anew nobody may be waiting; what is refused the link tells.
    shared.confirmed.catch(() => {})
  }

  /** True: it was the last, and the server has to be told. */
  function leave(shared: Shared, member: { readonly handler: MessageHandler }): boolean {
    if (!shared.members.delete(member) || shared.members.size > 0) return false
    all.delete(shared)
    if (alone.get(shared.subject) === shared) alone.delete(shared.subject)
    shared.active?.unsubscribe()
    return true
  }

  return {
    up(connection) {
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
        // Others get its share from now on; a server that is away has forgotten it.
        if (leave(shared, member))
          await link()
            .confirm()
            .catch(() => {})
      }
    },
  }
}

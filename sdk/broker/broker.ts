import { type CheckedBroker, createBroker as createChecked } from '../../domain/broker/broker.ts'
import { type KnownOptions, rejectUnknownOptions } from '../../lib/object/known-options.ts'
import type { CallOptions, Client } from '../client/client.ts'
import type { ServiceError } from '../errors.ts'
import { findInternals } from '../internal/internals.ts'
import type { Schema } from '../schema/schema.ts'
import { Service } from '../service/service.ts'
import { beginSend, carryFields, endMessage } from '../tracing/message-span.ts'
import {
  BROKER,
  createMessageHandler,
  encodeMessage,
  type MessageDetails,
  type Subscriber,
} from './message.ts'
import { type BrokerCallOptions, createPlatformBroker, publishTo } from './platform-broker.ts'
import { type SubscriberOptions, toBrokerLog, toReports } from './subscriptions.ts'

/** How a message is published. */
export interface PublishOptions
  extends MessageDetails,
    Pick<CallOptions, 'namespace' | 'timeoutMs' | 'address' | 'signal'> {}

/** How to subscribe. */
export interface TopicOptions<S extends Schema> extends SubscriberOptions<S> {
  /** Told, with a 503, when the subscription has ended because it was too slow (`whenSlow: 'end'`). */
  readonly onEnd?: (error: ServiceError) => void
}

/** Publishes and subscribes (specification: Library-level operations). */
export interface MessageBroker {
  /**
   * Publishes a message to whoever has subscribed to the topic: at most once, and nobody says who got it.
   *
   * @param message bytes, or what JSON can say; text with a `content-type` of its own in `headers` as UTF-8.
   * @throws {ServiceError} 400 for a topic or header that is malformed, or a message that is too long, 503 when the broker cannot be reached.
   * @throws {TypeError} for a message that cannot be said so, and unknown options.
   */
  readonly publish: (topic: string, message: unknown, options?: PublishOptions) => Promise<void>
  /**
   * Subscribes: from when the promise resolves, `subscriber` gets every message, one after the other, decoded, with what was said
   * of it as context. A subscription that breaks comes back by itself.
   *
   * @returns ends it.
   * @throws {ServiceError} as `publish`, and 404 where the platform has no broker.
   */
  readonly subscribe: <S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    options?: TopicOptions<S>,
  ) => Promise<() => Promise<void>>
  /** Messages lost so far because subscribers were slow; those of {@link Service.subscribe} with them, where the service has a broker of its own. */
  readonly dropped: number
  /** Ends what was subscribed by it; so does a service that stops. */
  readonly close: () => Promise<void>
}

const CALL: KnownOptions<BrokerCallOptions> = { namespace: true, timeoutMs: true, address: true }
const PUBLISH: KnownOptions<PublishOptions> = {
  ...CALL,
  signal: true,
  context: true,
  headers: true,
}
const SUBSCRIBE: KnownOptions<TopicOptions<Schema>> = {
  message: true,
  queue: true,
  whenSlow: true,
  onEnd: true,
}

/**
 * Opens the broker of the platform, or the one the service was told of.
 *
 * ```ts
 * const broker = createBroker(service)
 * await broker.publish('orders', { id: 5 }, { context: ctx })
 * const leave = await broker.subscribe('orders', (order, ctx) => { ... })
 * ```
 *
 * @param options of all calls. A broker of the service's own is not called, and its topics have no namespaces: it takes none.
 * @throws {TypeError} for an unknown option, here and by each method.
 */
export function createBroker(
  owner: Client | Service<object>,
  options: BrokerCallOptions = {},
): MessageBroker {
  rejectUnknownOptions('createBroker', options, CALL)
  const isService = owner instanceof Service
  /** Made by a service when it is first asked for. */
  const toClient = (): Client => (isService ? owner.client : owner)
  const service = isService ? owner.name : ''
  const log = isService ? owner.log : undefined
  const internals = findInternals(owner)
  const own = isService ? internals?.broker : undefined
  const traces = internals?.traces
  let front: CheckedBroker | undefined
  const leaves = new Set<() => Promise<void>>()

  /** The service's own broker. */
  function findDirect(call: Readonly<Record<string, unknown>> = {}): CheckedBroker | undefined {
    const direct = own?.find()
    const [name] = direct === undefined ? [] : Object.keys(call)
    if (name === undefined) return direct
    throw new TypeError(`${name} is for calls: the service has a broker of its own`)
  }

  /** Of the platform's broker a front of its own. */
  function open(): CheckedBroker {
    if (front === undefined) {
      const platform = { client: toClient(), call: options, ...(log && toBrokerLog(log)) }
      front = createChecked(createPlatformBroker(platform), log && toReports(log))
      own?.closeToo(close)
    }
    return front
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...leaves].map((leave) => leave()))
    await front?.close?.()
  }

  return {
    async publish(topic, value, given = {}) {
      rejectUnknownOptions('broker.publish', given, PUBLISH)
      const { headers, ...rest } = given
      const { context, ...call } = rest
      const encoded = encodeMessage(value, {
        ...(context !== undefined && { context }),
        ...(headers !== undefined && { headers }),
      })
      const direct = findDirect({ ...options, ...call })
      const span = beginSend(traces, { system: BROKER, topic }, context)
      const message =
        span === undefined ? encoded : { ...encoded, headers: carryFields(encoded.headers, span) }
      try {
        if (direct !== undefined) await direct.publish(topic, message)
        else await publishTo(toClient(), topic, message, { ...options, ...rest })
        endMessage(span)
      } catch (error) {
        endMessage(span, error)
        throw error
      }
    },

    async subscribe(topic, subscriber, given = {}) {
      rejectUnknownOptions('broker.subscribe', given, SUBSCRIBE)
      const { message, queue, whenSlow, onEnd } = given
      const broker = findDirect({ ...options }) ?? open()
      const handler = createMessageHandler(topic, subscriber, message, {
        service,
        traces,
        ...(log && { log }),
        ...(queue !== undefined && { queue }),
      })
      const stop = await broker.subscribe(topic, handler, {
        ...(queue !== undefined && { queue }),
        ...(whenSlow !== undefined && { whenSlow }),
        ...(onEnd !== undefined && { onEnd }),
      })
      const leave = async (): Promise<void> => {
        if (leaves.delete(leave)) await stop()
      }
      leaves.add(leave)
      return leave
    },

    get dropped() {
      return (findDirect() ?? front)?.dropped ?? 0
    },

    close,
  }
}

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

/** Options of {@link MessageBroker.publish}. */
export interface PublishOptions
  extends MessageDetails,
    Pick<CallOptions, 'namespace' | 'timeoutMs' | 'address' | 'signal'> {}

/** Options of {@link MessageBroker.subscribe}. */
export interface TopicOptions<S extends Schema> extends SubscriberOptions<S> {
  /** Called with a 503 error when the subscription ends because it is too slow (`whenSlow: 'end'`). */
  readonly onEnd?: (error: ServiceError) => void
}

/** Publishes messages and subscribes to topics (specification: Library-level operations). */
export interface MessageBroker {
  /**
   * Publishes a message to the subscribers of a topic, at most once. Delivery is not confirmed.
   *
   * @param message bytes or a JSON value; text is sent as UTF-8 if `headers` sets another `content-type`.
   * @throws {ServiceError} 400 for an invalid topic or header, or a message that is too long; 503 if the broker is
   * unreachable.
   * @throws {TypeError} for a value that JSON cannot represent, or unknown options.
   */
  readonly publish: (topic: string, message: unknown, options?: PublishOptions) => Promise<void>
  /**
   * Subscribes to a topic. `subscriber` receives each decoded message, one at a time, with a context created from its
   * headers. The subscription restarts after a failure.
   *
   * @returns a function that ends the subscription.
   * @throws {ServiceError} like `publish`, and 404 if the platform has no broker.
   */
  readonly subscribe: <S extends Schema>(
    topic: string,
    subscriber: Subscriber<S>,
    options?: TopicOptions<S>,
  ) => Promise<() => Promise<void>>
  /**
   * Number of messages dropped because subscribers were slow. Includes messages of {@link Service.subscribe} if the
   * service has its own broker.
   */
  readonly dropped: number
  /** Ends all subscriptions, as does stopping the service. */
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
 * Opens the platform's broker, or the one configured for the service.
 *
 * ```ts
 * const broker = createBroker(service)
 * await broker.publish('orders', { id: 5 }, { context: ctx })
 * const unsubscribe = await broker.subscribe('orders', (order, ctx) => { ... })
 * ```
 *
 * @param options options for all calls. Not allowed with the service's own broker, which is used without calls and has
 * no namespaces.
 * @throws {TypeError} for an unknown option, here and in each method.
 */
export function createBroker(
  owner: Client | Service<object>,
  options: BrokerCallOptions = {},
): MessageBroker {
  rejectUnknownOptions('createBroker', options, CALL)
  const isService = owner instanceof Service
  /** Created by the service on first use. */
  const toClient = (): Client => (isService ? owner.client : owner)
  const service = isService ? owner.name : ''
  const log = isService ? owner.log : undefined
  const internals = findInternals(owner)
  const serviceBroker = isService ? internals?.broker : undefined
  const traces = internals?.traces
  let front: CheckedBroker | undefined
  const leaves = new Set<() => Promise<void>>()

  function findDirect(call: Readonly<Record<string, unknown>> = {}): CheckedBroker | undefined {
    const direct = serviceBroker?.find()
    const [name] = direct === undefined ? [] : Object.keys(call)
    if (name === undefined) return direct
    throw new TypeError(`call option ${name} is not supported: the service has its own broker`)
  }

  function open(): CheckedBroker {
    if (front === undefined) {
      const platform = { client: toClient(), call: options, ...(log && toBrokerLog(log)) }
      front = createChecked(createPlatformBroker(platform), log && toReports(log))
      serviceBroker?.onClose(close)
    }
    return front
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...leaves].map((leave) => leave()))
    await front?.close?.()
  }

  return {
    async publish(topic, value, callOptions = {}) {
      rejectUnknownOptions('broker.publish', callOptions, PUBLISH)
      const { headers, ...otherOptions } = callOptions
      const { context, ...call } = otherOptions
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
        else await publishTo(toClient(), topic, message, { ...options, ...otherOptions })
        endMessage(span)
      } catch (error) {
        endMessage(span, error)
        throw error
      }
    },

    async subscribe(topic, subscriber, callOptions = {}) {
      rejectUnknownOptions('broker.subscribe', callOptions, SUBSCRIBE)
      const { message, queue, whenSlow, onEnd } = callOptions
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

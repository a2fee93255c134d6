import type {
  Broker,
  Message,
  MessageHandler,
  SubscribeOptions,
  Unsubscribe,
} from '../../core/contracts/broker.ts'
import type { GatewayError } from '../../core/errors.ts'
import { HeaderList } from '../../core/http/headers.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { createNullProto } from '../../lib/object/null-proto.ts'
import { Delivery, type DeliveryOptions, type OverflowPolicy, warnOfDrop } from './delivery.ts'
import { brokerError } from './errors.ts'
import { isTopicName } from './topic-name.ts'

export interface BrokerOptions extends DeliveryOptions {
  /** Maximum length of a message body in bytes. An adapter may allow less. @default 16777216 */
  readonly maxBodyBytes?: number
}

export interface CheckedSubscribeOptions extends SubscribeOptions {
  /** @default the policy of the broker */
  readonly whenSlow?: OverflowPolicy
  /**
   * Called with a 503 error when the subscription has ended because the subscriber is too slow
   * (`end`).
   */
  readonly onEnd?: (error: GatewayError) => void
}

/** A broker that adds validation and limits to an adapter. */
export interface CheckedBroker extends Broker {
  readonly maxBodyBytes: number
  /** Number of messages dropped for slow subscribers since startup. */
  readonly dropped: number
  /**
   * Number of messages that subscribers reported as dropped from their own queues since startup.
   */
  readonly droppedRemotely: number
  /** Adds to {@link droppedRemotely}. */
  readonly reportDropped: (topic: string, count: number) => void
  /** Number of subscriptions ended for slow subscribers since startup. */
  readonly ended: number
  readonly subscribe: (
    topic: string,
    handler: MessageHandler,
    options?: CheckedSubscribeOptions,
  ) => Maybe<Unsubscribe>
}

/** Maximum size of a message's headers in bytes. */
const MAX_HEADER_BYTES = 64 * 1024

/**
 * Wraps an adapter with the behavior that all brokers share. Topics and queues follow the naming
 * rules of services; invalid names and messages are rejected before they reach the adapter. A
 * subscriber that is slow or throws does not block publishers or other subscribers, because each
 * subscriber has a separate queue ({@link Delivery}).
 *
 * The broker owns the adapter: {@link Broker.close} closes it, and subsequent calls fail with 503.
 *
 * @throws {GatewayError} (`publish`, `subscribe`) 400 for an invalid name or header, and for a
 * message that is too long.
 */
export function createBroker(
  adapter: Broker,
  { maxBodyBytes = 16 * 1024 * 1024, ...options }: BrokerOptions = {},
): CheckedBroker {
  const deliveries = new Set<Delivery>()
  const deliveryOptions = withRemoteReport(options, adapter)
  let droppedRemotely = 0
  /** Messages dropped for subscribers that have left. */
  let dropped = 0
  let ended = 0
  let closed = false

  function check(topic: string): void {
    if (closed) throw brokerError(503, 'the broker is closed')
    checkName('topic', topic)
  }

  function end(delivery: Delivery): void {
    delivery.close()
    if (deliveries.delete(delivery)) dropped += delivery.dropped
  }

  /** Evaluated on each call, because a server may announce its limit only once connected. */
  function findLongest(): number {
    return Math.min(maxBodyBytes, adapter.maxBodyBytes ?? Number.POSITIVE_INFINITY)
  }

  return {
    name: adapter.name,

    get maxBodyBytes() {
      return findLongest()
    },

    get dropped() {
      let sum = dropped
      for (const delivery of deliveries) sum += delivery.dropped
      return sum
    },

    get droppedRemotely() {
      return droppedRemotely
    },

    reportDropped(_, count) {
      droppedRemotely += count
    },

    get ended() {
      return ended
    },

    publish(topic, { headers, body }) {
      check(topic)
      const longest = findLongest()
      if (body.length > longest) {
        throw brokerError(400, `body must be at most ${longest} bytes, got ${body.length}`)
      }
      return adapter.publish(topic, { headers: toHeaders(headers), body })
    },

    subscribe(topic, handler, { queue, whenSlow, onEnd } = {}) {
      check(topic)
      if (queue !== undefined) checkName('queue', queue)
      let leave: Unsubscribe | undefined
      const delivery = new Delivery(
        { topic, queue },
        handler,
        whenSlow === undefined ? deliveryOptions : { ...deliveryOptions, whenSlow },
        () => {
          ended++
          end(delivery)
          if (leave !== undefined) void settle(leave)
          onEnd?.(
            brokerError(503, `the subscriber of ${topic} is too slow; its subscription has ended`),
          )
        },
      )
      deliveries.add(delivery)
      const begin = (stop: Unsubscribe): Unsubscribe => {
        leave = stop
        if (!deliveries.has(delivery)) void settle(stop)
        return () => {
          if (!deliveries.has(delivery)) return
          end(delivery)
          return stop()
        }
      }
      const fail = (error: unknown): never => {
        end(delivery)
        throw error
      }
      try {
        const stop = adapter.subscribe(topic, delivery.push, queue === undefined ? {} : { queue })
        return stop instanceof Promise ? stop.then(begin, fail) : begin(stop)
      } catch (error) {
        return fail(error)
      }
    },

    close() {
      if (closed) return
      closed = true
      for (const delivery of deliveries) end(delivery)
      return adapter.close?.()
    },
  }
}

/** Also reports drops to the adapter, because its server is not aware of them. */
function withRemoteReport(options: DeliveryOptions, adapter: Broker): DeliveryOptions {
  if (adapter.reportDropped === undefined) return options
  const { onDrop = warnOfDrop } = options
  return {
    ...options,
    onDrop(subscription, count) {
      onDrop(subscription, count)
      adapter.reportDropped!(subscription.topic, count)
    },
  }
}

/** @throws {GatewayError} 400 */
function checkName(what: string, name: string): void {
  if (isTopicName(name)) return
  throw brokerError(
    400,
    `${what} must be letters, digits and inner dots, dashes or underscores, at most 253, got ${JSON.stringify(name.slice(0, 253))}`,
  )
}

/**
 * Copies headers with lower-case names and a null prototype.
 *
 * @throws {GatewayError} 400
 */
function toHeaders(headers: Message['headers']): Message['headers'] {
  const list = new HeaderList()
  try {
    for (const name of Object.keys(headers)) list.append(name, headers[name]!)
  } catch (error) {
    throw brokerError(400, (error as Error).message)
  }
  const copy: Record<string, string> = createNullProto()
  let bytes = 0
  const { flat } = list
  for (let i = 0; i < flat.length; i += 2) {
    bytes += flat[i]!.length + flat[i + 1]!.length
    copy[flat[i]!] = flat[i + 1]!
  }
  if (bytes > MAX_HEADER_BYTES) {
    throw brokerError(400, `headers must be at most ${MAX_HEADER_BYTES} bytes, got ${bytes}`)
  }
  return copy
}

/** Ends a subscription in the background. */
async function settle(stop: Unsubscribe): Promise<void> {
  try {
    await stop()
  } catch {
    // Ignored, because its handler is inactive.
  }
}

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
import { rejectInput } from './errors.ts'
import { isTopicName } from './topic-name.ts'

export interface BrokerOptions extends DeliveryOptions {
  /** Longest body of a message, bytes; an adapter may allow less. @default 16777216 */
  readonly maxBodyBytes?: number
}

export interface CheckedSubscribeOptions extends SubscribeOptions {
  /** @default that of the broker */
  readonly whenSlow?: OverflowPolicy
  /** Told, with a 503, when the subscription has ended because it was too slow (`end`). */
  readonly onEnd?: (error: GatewayError) => void
}

/** A broker as its users have it: everything that comes in is checked, everything that goes out is bounded. */
export interface CheckedBroker extends Broker {
  readonly maxBodyBytes: number
  /** Messages lost because their subscribers were slow, since the start. */
  readonly dropped: number
  /** Messages that subscribers dropped from queues of their own, as they reported, since the start. */
  readonly droppedRemotely: number
  /** Adds to {@link droppedRemotely}. */
  readonly reportDropped: (topic: string, count: number) => void
  /** Subscriptions that were ended because they were slow, since the start. */
  readonly ended: number
  readonly subscribe: (
    topic: string,
    handler: MessageHandler,
    options?: CheckedSubscribeOptions,
  ) => Maybe<Unsubscribe>
}

/** Names and values of a message's headers, bytes. */
const MAX_HEADER_BYTES = 64 * 1024

/**
 * Puts what all brokers have in common in front of one. Topics and queues are named as services
 * are; they and messages that break a rule are refused before the adapter sees them. A
 * subscriber that is slow or throws holds up neither publishers nor other subscribers: its
 * messages wait in a place of its own ({@link Delivery}).
 *
 * The adapter is its own: {@link Broker.close} closes it, and afterwards nothing is taken (503).
 *
 * @throws {GatewayError} (`publish`, `subscribe`) 400 for a malformed name or header, and for a message that is too long.
 */
export function createBroker(
  adapter: Broker,
  { maxBodyBytes = 16 * 1024 * 1024, ...options }: BrokerOptions = {},
): CheckedBroker {
  const deliveries = new Set<Delivery>()
  const deliveryOptions = withRemoteReport(options, adapter)
  let droppedRemotely = 0
  /** Lost by subscribers that have left. */
  let dropped = 0
  let ended = 0
  let closed = false

  function check(topic: string): void {
    if (closed) throw rejectInput(503, 'the broker is closed')
    checkName('topic', topic)
  }

  function end(delivery: Delivery): void {
    delivery.close()
    if (deliveries.delete(delivery)) dropped += delivery.dropped
  }

  /** A server may say only when it is asked. */
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
        throw rejectInput(400, `body must be at most ${longest} bytes, got ${body.length}`)
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
            rejectInput(503, `the subscriber of ${topic} is too slow: its subscription has ended`),
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

/** Also reports losses to the adapter, whose server would not know of them. */
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
  throw rejectInput(
    400,
    `${what} must be letters, digits and inner dots, dashes or underscores, at most 253, got ${JSON.stringify(name.slice(0, 253))}`,
  )
}

/**
 * A copy with names in lower case, which inherits nothing to mistake for headers.
 *
 * @throws {GatewayError} 400
 */
function toHeaders(headers: Message['headers']): Message['headers'] {
  const list = new HeaderList()
  try {
    for (const name of Object.keys(headers)) list.append(name, headers[name]!)
  } catch (error) {
    throw rejectInput(400, (error as Error).message)
  }
  const copy: Record<string, string> = createNullProto()
  let bytes = 0
  const { flat } = list
  for (let i = 0; i < flat.length; i += 2) {
    bytes += flat[i]!.length + flat[i + 1]!.length
    copy[flat[i]!] = flat[i + 1]!
  }
  if (bytes > MAX_HEADER_BYTES) {
    throw rejectInput(400, `headers must be at most ${MAX_HEADER_BYTES} bytes, got ${bytes}`)
  }
  return copy
}

/** Leaves a subscription nobody waits for to have ended. */
async function settle(stop: Unsubscribe): Promise<void> {
  try {
    await stop()
  } catch {
    // Its handler does nothing any more.
  }
}

import type { Message, Unsubscribe } from '../../core/contracts/broker.ts'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { CheckedBroker, CheckedSubscribeOptions } from '../../domain/broker/broker.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createMessageFeed, type MessageFeed } from './message-feed.ts'

export interface SubscriptionsOptions {
  readonly broker: CheckedBroker
  /** Maximum number of subscribers. */
  readonly maxSubscribers: number
  /** Returns whether a message fits into a stream message. Larger messages are dropped. */
  readonly fits: (message: Message, topic: string) => boolean
}

/** Subscriptions made through calls. */
export interface Subscriptions {
  /**
   * Subscribes until the stream ends.
   *
   * @param namespace namespace of the topic.
   * @param topic global name of the topic.
   * @param id id used in errors.
   * @param onStart called once the subscription is active.
   * @throws {GatewayError} 429 if there are too many subscribers, 503 while the service is
   * stopping. Broker errors end the stream.
   */
  readonly open: (
    namespace: string,
    topic: string,
    options: Omit<CheckedSubscribeOptions, 'onEnd'>,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<Message>
  readonly count: () => number
  /** Ends all streams with 503 and rejects new ones. */
  readonly close: () => void
}

const STOPPING = 'the broker is stopping'

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { broker, maxSubscribers, fits } = options
  const feeds = new Set<MessageFeed>()
  const slots = new SharedPlaces(maxSubscribers, 'subscribers')
  let closed = false

  async function unsubscribeQuietly(stop: Unsubscribe): Promise<void> {
    try {
      await stop()
    } catch {
      // If the broker is unavailable, it has dropped the subscription.
    }
  }

  return {
    open(namespace, topic, choice, id, onStart) {
      if (closed) throw unavailable(id, STOPPING)
      const releaseSlot = slots.enter(namespace, id)
      let stop: Unsubscribe | undefined
      const feed: MessageFeed = createMessageFeed(() => {
        feeds.delete(feed)
        releaseSlot()
        if (stop !== undefined) void unsubscribeQuietly(stop)
      })
      feeds.add(feed)
      const begin = (unsubscribe: Unsubscribe): void => {
        stop = unsubscribe
        if (feeds.has(feed)) onStart()
        else void unsubscribeQuietly(stop)
      }
      const handle = (message: Message) => (fits(message, topic) ? feed.take(message) : undefined)
      const subscribe = async () => broker.subscribe(topic, handle, { ...choice, onEnd: feed.fail })
      subscribe().then(begin, feed.fail)
      return feed
    },

    count: () => feeds.size,

    close() {
      closed = true
      for (const feed of feeds) feed.fail(unavailable('broker', STOPPING))
    },
  }
}

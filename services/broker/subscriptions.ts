import type { Message, Unsubscribe } from '../../core/contracts/broker.ts'
import { SharedPlaces } from '../../core/limits/shared-places.ts'
import type { CheckedBroker, CheckedSubscribeOptions } from '../../domain/broker/broker.ts'
import { unavailable } from '../../sdk/errors.ts'
import { createMessageFeed, type MessageFeed } from './message-feed.ts'

export interface SubscriptionsOptions {
  readonly broker: CheckedBroker
  /** Subscribers at a time. */
  readonly maxSubscribers: number
  /** Whether a message fits into one of the stream; those that do not are left out. */
  readonly fits: (message: Message, topic: string) => boolean
}

/** Those who subscribed by a call. */
export interface Subscriptions {
  /**
   * Subscribes, until the stream is left.
   *
   * @param namespace of the topic.
   * @param topic effective name.
   * @param id of errors.
   * @param onStart called once messages come.
   * @throws {GatewayError} 429 when there are too many subscribers, 503 when the service is being stopped; whatever the broker
   * refuses with, the stream.
   */
  readonly open: (
    namespace: string,
    topic: string,
    options: Omit<CheckedSubscribeOptions, 'onEnd'>,
    id: string,
    onStart: () => void,
  ) => AsyncIterableIterator<Message>
  /** How many there are. */
  readonly count: () => number
  /** Ends all streams, with an error 503, and takes no more subscribers. */
  readonly close: () => void
}

const STOPPING = 'the broker is being stopped'

export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { broker, maxSubscribers, fits } = options
  const feeds = new Set<MessageFeed>()
  const places = new SharedPlaces(maxSubscribers, 'subscribers')
  let closed = false

  async function leave(stop: Unsubscribe): Promise<void> {
    try {
      await stop()
    } catch {
      // A broker that is away has forgotten it.
    }
  }

  return {
    open(namespace, topic, choice, id, onStart) {
      if (closed) throw unavailable(id, STOPPING)
      const leavePlace = places.enter(namespace, id)
      let stop: Unsubscribe | undefined
      const feed: MessageFeed = createMessageFeed(() => {
        feeds.delete(feed)
        leavePlace()
        if (stop !== undefined) void leave(stop)
      })
      feeds.add(feed)
      const begin = (unsubscribe: Unsubscribe): void => {
        stop = unsubscribe
        if (feeds.has(feed)) onStart()
        else void leave(stop)
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

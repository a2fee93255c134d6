import type { Broker, MessageHandler } from '../../core/contracts/broker.ts'

/** A subscription; its own object, so that a function given twice is two subscribers. */
interface Subscriber {
  readonly handler: MessageHandler
}

/** The subscribers of a topic that share its messages. */
interface Queue {
  readonly members: Subscriber[]
  /** Whose turn it is. */
  next: number
}

interface Topic {
  /** Subscribers without a queue. */
  readonly alone: Set<Subscriber>
  readonly queues: Map<string, Queue>
}

/** Messages between publishers and subscribers of this process; members of a queue take turns. */
export function createMemoryBroker(): Broker {
  const topics = new Map<string, Topic>()

  function open(name: string): Topic {
    let topic = topics.get(name)
    if (topic === undefined) {
      topic = { alone: new Set(), queues: new Map() }
      topics.set(name, topic)
    }
    return topic
  }

  /** Forgets a topic without subscribers. */
  function tidy(name: string, topic: Topic): void {
    if (topic.alone.size > 0 || topic.queues.size > 0) return
    // After a close there may be another of that name.
    if (topics.get(name) === topic) topics.delete(name)
  }

  return {
    name: 'memory',

    publish(name, { headers, body }) {
      const topic = topics.get(name)
      if (topic === undefined) return
      const message = { headers, body: new Uint8Array(body) }
      for (const { handler } of topic.alone) void handler(message)
      for (const queue of topic.queues.values()) {
        if (queue.next >= queue.members.length) queue.next = 0
        void queue.members[queue.next++]!.handler(message)
      }
    },

    subscribe(name, handler, { queue: queueName } = {}) {
      const topic = open(name)
      const subscriber = { handler }
      if (queueName === undefined) {
        topic.alone.add(subscriber)
        return () => {
          if (topic.alone.delete(subscriber)) tidy(name, topic)
        }
      }
      const queue = topic.queues.get(queueName) ?? { members: [], next: 0 }
      topic.queues.set(queueName, queue)
      queue.members.push(subscriber)
      return () => {
        const place = queue.members.indexOf(subscriber)
        if (place < 0) return
        queue.members.splice(place, 1)
        if (place < queue.next) queue.next--
        if (queue.members.length === 0) topic.queues.delete(queueName)
        tidy(name, topic)
      }
    },

    close() {
      topics.clear()
    },
  }
}

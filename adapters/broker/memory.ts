import type { Broker, MessageHandler } from '../../core/contracts/broker.ts'

/** A subscription; a separate object, so that the same function can subscribe twice. */
interface Subscriber {
  readonly handler: MessageHandler
}

/** Subscribers that share the messages of a topic, one recipient per message. */
interface Queue {
  readonly members: Subscriber[]
  /** Index of the next recipient. */
  next: number
}

interface Topic {
  /** Subscribers without a queue. */
  readonly broadcast: Set<Subscriber>
  readonly queues: Map<string, Queue>
}

/** Broker within this process; members of a queue receive messages round-robin. */
export function createMemoryBroker(): Broker {
  const topics = new Map<string, Topic>()

  function open(name: string): Topic {
    let topic = topics.get(name)
    if (topic === undefined) {
      topic = { broadcast: new Set(), queues: new Map() }
      topics.set(name, topic)
    }
    return topic
  }

  /** Removes a topic without subscribers. */
  function removeIfEmpty(name: string, topic: Topic): void {
    if (topic.broadcast.size > 0 || topic.queues.size > 0) return
    // A new topic with the same name may have been created since.
    if (topics.get(name) === topic) topics.delete(name)
  }

  return {
    name: 'memory',

    publish(name, { headers, body }) {
      const topic = topics.get(name)
      if (topic === undefined) return
      const message = { headers, body: new Uint8Array(body) }
      for (const { handler } of topic.broadcast) void handler(message)
      for (const queue of topic.queues.values()) {
        if (queue.next >= queue.members.length) queue.next = 0
        void queue.members[queue.next++]!.handler(message)
      }
    },

    subscribe(name, handler, { queue: queueName } = {}) {
      const topic = open(name)
      const subscriber = { handler }
      if (queueName === undefined) {
        topic.broadcast.add(subscriber)
        return () => {
          if (topic.broadcast.delete(subscriber)) removeIfEmpty(name, topic)
        }
      }
      const queue = topic.queues.get(queueName) ?? { members: [], next: 0 }
      topic.queues.set(queueName, queue)
      queue.members.push(subscriber)
      return () => {
        const index = queue.members.indexOf(subscriber)
        if (index < 0) return
        queue.members.splice(index, 1)
        if (index < queue.next) queue.next--
        if (queue.members.length === 0) topic.queues.delete(queueName)
        removeIfEmpty(name, topic)
      }
    },

    close() {
      topics.clear()
    },
  }
}

import type { EventDelivery, EventTopic, StoredEvent } from '../../../core/contracts/events.ts'
import type { LogMembers } from './group.ts'
import type { EventLog } from './log.ts'
import { createPulls } from './pull-queue.ts'

export interface LogTailOptions {
  readonly log: EventLog
  readonly topic: EventTopic
  /** First sequence. */
  readonly from: number
  /** Events with an earlier timestamp are skipped. Undefined if none are skipped. */
  readonly sinceMs: number | undefined
}

/** Delivers events in order to a single member without acknowledgements. */
export function createLogTail({ log, topic, from, sinceMs }: LogTailOptions): LogMembers {
  const since = sinceMs === undefined ? {} : { sinceMs }
  const pulls = createPulls<object>(take)
  const member = {}
  let size = 0
  let next = from
  let failure: Error | undefined

  function take(_: object, limit: number, maxBytes: number): readonly EventDelivery[] {
    const { events, end, next: more } = log.read(topic, { from: next, limit, maxBytes, ...since })
    next = end
    // Continues in another tick, because many events may be skipped.
    if (events.length === 0 && more !== undefined) setImmediate(pulls.wake)
    return events.map((event) => new TailDelivery(event))
  }

  function leave(): void {
    size = 0
    pulls.leave(member)
  }

  return {
    get size() {
      return size
    },

    join() {
      size = 1
      return {
        async pull(limit, maxBytes) {
          if (failure !== undefined) throw failure
          return size > 0 ? pulls.pull(member, limit, maxBytes) : []
        },
        leave,
      }
    },

    wake: pulls.wake,
    close: leave,

    fail(error) {
      failure = error
      pulls.fail(error)
    },
  }
}

class TailDelivery implements EventDelivery {
  readonly event: StoredEvent
  readonly attempt = 1

  constructor(event: StoredEvent) {
    this.event = event
  }

  ack(): void {}

  nack(): void {}
}

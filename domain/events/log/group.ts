import type {
  EventDelivery,
  EventMember,
  EventTopic,
  GroupState,
  StoredEvent,
} from '../../../core/contracts/events.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { createProgress } from './ack-cursor.ts'
import { InFlightEvent, type LogConsumer, LogDelivery } from './delivery.ts'
import { formatGroupState, type GroupProgress } from './group-state.ts'
import type { EventLog } from './log.ts'
import { createPulls } from './pull-queue.ts'

export interface LogGroupOptions {
  readonly log: EventLog
  readonly topic: EventTopic
  /** Start of the group, or its stored progress. */
  readonly from: GroupProgress
  /**
   * Schedules a save of the current state, and resolves once it is stored. No-op for a temporary
   * group.
   */
  readonly save: () => Maybe<void>
}

/** Members that share the events of a topic in a log. */
export interface LogMembers {
  readonly size: number
  readonly join: (ackWaitMs: number) => EventMember
  /** Called when events have been appended. */
  readonly wake: () => void
  /** Removes all members. */
  readonly close: () => void
  /** Ends the group. Pending and later pulls are rejected. */
  readonly fail: (error: Error) => void
}

/** A group whose events are acknowledged. */
export interface LogGroup extends LogMembers {
  /** Returns the state to be stored, or undefined if the group has ended. */
  readonly format: () => Uint8Array | undefined
  readonly describe: () => Omit<GroupState, 'name'>
}

/**
 * Maximum distance of a pulled event from the first unacknowledged one. It limits memory usage if
 * an event is never acknowledged.
 */
const WINDOW = 10_000

export function createLogGroup({ log, topic, from, save }: LogGroupOptions): LogGroup {
  const { sinceMs } = from
  const since = sinceMs === undefined ? {} : { sinceMs }
  const progress = createProgress(from.acked, from.ahead)
  /**
   * Attempt counts from before the group was loaded, for events that have not been pulled since.
   */
  const counts = new Map(from.attempts)
  /** Events in flight by sequence. */
  const inFlight = new Map<number, InFlightEvent>()
  /** Events to redeliver. */
  const redeliverable = new Set<InFlightEvent>()
  const members = new Set<LogConsumer>()
  const pulls = createPulls<LogConsumer>(take)
  const calls = { ack, nack }
  /** First sequence that has not been pulled since the group was loaded. */
  let next = progress.acked + 1
  let failure: Error | undefined
  let hasEnded = false

  function makeAvailable(entry: InFlightEvent): void {
    redeliverable.add(entry)
    pulls.wake()
  }

  function forget(entry: InFlightEvent): void {
    deadlines.remove(entry)
    redeliverable.delete(entry)
    inFlight.delete(entry.sequence)
  }

  /** Errors are ignored, because without stored progress, events are redelivered. */
  function saveSoon(): void {
    Promise.resolve(save()).catch(() => {})
  }

  function ack({ sequence }: InFlightEvent): Maybe<void> {
    if (hasEnded) return
    const current = inFlight.get(sequence)
    if (current !== undefined) forget(current)
    const isNew = progress.finish(sequence)
    const saved = save()
    if (isNew) pulls.wake()
    return saved
  }

  function nack(entry: InFlightEvent, delayMs: number): void {
    if (inFlight.get(entry.sequence) !== entry || entry.consumer === undefined) return
    entry.release(delayMs)
    if (delayMs <= 0) makeAvailable(entry)
  }

  /** Treats events removed by retention as acknowledged. */
  function skipRemoved(): void {
    const first = log.findTopic(topic)?.first ?? 1
    if (first <= progress.acked + 1) return
    progress.skipTo(first - 1)
    for (const entry of inFlight.values()) if (entry.sequence < first) forget(entry)
    for (const sequence of counts.keys()) if (sequence < first) counts.delete(sequence)
    next = Math.max(next, first)
    saveSoon()
  }

  function deliver(event: StoredEvent, attempt: number, member: LogConsumer): EventDelivery {
    const entry = new InFlightEvent(event.sequence, attempt, member, makeAvailable)
    inFlight.set(event.sequence, entry)
    return new LogDelivery(event, entry, calls)
  }

  /** Takes events for redelivery. Returns the total size of their payloads. */
  function takeRedeliverable(
    deliveries: EventDelivery[],
    member: LogConsumer,
    limit: number,
    maxBytes: number,
  ): number {
    let bytes = 0
    for (const entry of [...redeliverable].sort((a, b) => a.sequence - b.sequence)) {
      if (deliveries.length === limit || bytes >= maxBytes) break
      const { sequence: from, attempt } = entry
      const [event] = log.read(topic, { from, limit: 1, maxBytes: 1 }).events
      forget(entry)
      deliveries.push(deliver(event!, attempt + 1, member))
      bytes += event!.payload.length
    }
    // Attempt counts must survive a restart.
    if (deliveries.length > 0) saveSoon()
    return bytes
  }

  /** Acknowledges all events before `sequence`. */
  function finishUpTo(sequence: number): void {
    for (; next < sequence; next++) progress.finish(next)
  }

  function takeNew(
    deliveries: EventDelivery[],
    member: LogConsumer,
    limit: number,
    maxBytes: number,
  ): void {
    const maxCount = Math.min(limit - deliveries.length, progress.acked + WINDOW - next + 1)
    if (maxCount <= 0 || maxBytes <= 0) return
    const slice = log.read(topic, { from: next, limit: maxCount, maxBytes, ...since })
    const passed = slice.end - next - slice.events.length
    for (const event of slice.events) {
      finishUpTo(event.sequence)
      next++
      if (progress.isDone(event.sequence)) continue
      const count = counts.get(event.sequence) ?? 0
      counts.delete(event.sequence)
      deliveries.push(deliver(event, count + 1, member))
    }
    finishUpTo(slice.end)
    if (passed > 0) saveSoon()
    // Continues in another tick, because many events may be skipped.
    if (deliveries.length === 0 && slice.next !== undefined) setImmediate(pulls.wake)
  }

  function take(member: LogConsumer, limit: number, maxBytes: number): readonly EventDelivery[] {
    const deliveries: EventDelivery[] = []
    skipRemoved()
    const bytes =
      redeliverable.size > 0 ? takeRedeliverable(deliveries, member, limit, maxBytes) : 0
    takeNew(deliveries, member, limit, maxBytes - bytes)
    return deliveries
  }

  function leave(member: LogConsumer): void {
    if (!members.delete(member)) return
    pulls.leave(member)
    for (const entry of inFlight.values()) {
      if (entry.consumer !== member) continue
      entry.release(0)
      redeliverable.add(entry)
    }
    if (redeliverable.size > 0) pulls.wake()
  }

  function end(): void {
    hasEnded = true
    for (const entry of inFlight.values()) deadlines.remove(entry)
    inFlight.clear()
    redeliverable.clear()
  }

  return {
    get size() {
      return members.size
    },

    join(ackWaitMs) {
      const member = { ackWaitMs }
      members.add(member)
      return {
        async pull(limit, maxBytes) {
          if (failure !== undefined) throw failure
          return members.has(member) ? pulls.pull(member, limit, maxBytes) : []
        },
        leave: () => leave(member),
      }
    },

    wake: pulls.wake,

    close() {
      for (const member of members) leave(member)
      end()
    },

    fail(error) {
      failure = error
      end()
      pulls.fail(error)
    },

    describe: () => ({ acked: progress.acked, pending: inFlight.size }),

    format() {
      if (hasEnded) return undefined
      const attempts = new Map(counts)
      // While the group has members, first attempts are not stored, which saves writes.
      const minAttempts = members.size === 0 ? 1 : 2
      for (const { sequence, attempt } of inFlight.values())
        if (attempt >= minAttempts) attempts.set(sequence, attempt)
      return formatGroupState({ acked: progress.acked, ahead: progress.ahead, sinceMs, attempts })
    },
  }
}

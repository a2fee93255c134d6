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
  /** Where it begins, or goes on. */
  readonly from: GroupProgress
  /** Has its state kept, as it is by then; resolves once it is. Does nothing for a group that is not kept. */
  readonly save: () => Maybe<void>
}

/** Members that share the events of a topic, over a log. */
export interface LogMembers {
  /** Members there are. */
  readonly size: number
  readonly join: (ackWaitMs: number) => EventMember
  /** Events were appended. */
  readonly wake: () => void
  /** Members leave. */
  readonly close: () => void
  /** Ends it: pulls under way, and to come, reject. */
  readonly fail: (error: Error) => void
}

/** A group whose events are acknowledged. */
export interface LogGroup extends LogMembers {
  /** What to keep of it; undefined: it is over. */
  readonly format: () => Uint8Array | undefined
  readonly describe: () => Omit<GroupState, 'name'>
}

/** How far behind the first event that is not done with others are pulled: one that never is does not let what is remembered grow. */
const WINDOW = 10_000

export function createLogGroup({ log, topic, from, save }: LogGroupOptions): LogGroup {
  const { sinceMs } = from
  const since = sinceMs === undefined ? {} : { sinceMs }
  const progress = createProgress(from.acked, from.ahead)
  /** How often was pulled before the group was loaded what was not since. */
  const counts = new Map(from.attempts)
  /** By sequence: what was pulled, and is not done with. */
  const inFlight = new Map<number, InFlightEvent>()
  /** Those of them that may be pulled again. */
  const free = new Set<InFlightEvent>()
  const members = new Set<LogConsumer>()
  const pulls = createPulls<LogConsumer>(take)
  const calls = { ack, nack }
  /** What was never pulled since the group was loaded begins here. */
  let next = progress.acked + 1
  let failure: Error | undefined
  let isOver = false

  function setFree(one: InFlightEvent): void {
    free.add(one)
    pulls.wake()
  }

  function forget(one: InFlightEvent): void {
    deadlines.remove(one)
    free.delete(one)
    inFlight.delete(one.sequence)
  }

  /** Nobody waits for it: what is not kept comes again. */
  function saveSoon(): void {
    Promise.resolve(save()).catch(() => {})
  }

  function ack({ sequence }: InFlightEvent): Maybe<void> {
    if (isOver) return
    const current = inFlight.get(sequence)
    if (current !== undefined) forget(current)
    const isNew = progress.finish(sequence)
    const saved = save()
    if (isNew) pulls.wake()
    return saved
  }

  function nack(one: InFlightEvent, delayMs: number): void {
    if (inFlight.get(one.sequence) !== one || one.holder === undefined) return
    one.letGo(delayMs)
    if (delayMs <= 0) setFree(one)
  }

  /** What retention has removed is done with. */
  function skipRemoved(): void {
    const first = log.findTopic(topic)?.first ?? 1
    if (first <= progress.acked + 1) return
    progress.skipTo(first - 1)
    for (const one of inFlight.values()) if (one.sequence < first) forget(one)
    for (const sequence of counts.keys()) if (sequence < first) counts.delete(sequence)
    next = Math.max(next, first)
    saveSoon()
  }

  function lease(event: StoredEvent, attempt: number, member: LogConsumer): EventDelivery {
    const one = new InFlightEvent(event.sequence, attempt, member, setFree)
    inFlight.set(event.sequence, one)
    return new LogDelivery(event, one, calls)
  }

  /** What comes again; its bytes. */
  function takeFree(
    taken: EventDelivery[],
    member: LogConsumer,
    limit: number,
    maxBytes: number,
  ): number {
    let bytes = 0
    for (const one of [...free].sort((a, b) => a.sequence - b.sequence)) {
      if (taken.length === limit || bytes >= maxBytes) break
      const { sequence: from, attempt } = one
      const [event] = log.read(topic, { from, limit: 1, maxBytes: 1 }).events
      forget(one)
      taken.push(lease(event!, attempt + 1, member))
      bytes += event!.payload.length
    }
    // Counts that rise survive the end of the process.
    if (taken.length > 0) saveSoon()
    return bytes
  }

  /** Goes on to `sequence`, done with all in between. */
  function passOver(sequence: number): void {
    for (; next < sequence; next++) progress.finish(next)
  }

  function takeNew(
    taken: EventDelivery[],
    member: LogConsumer,
    limit: number,
    maxBytes: number,
  ): void {
    const most = Math.min(limit - taken.length, progress.acked + WINDOW - next + 1)
    if (most <= 0 || maxBytes <= 0) return
    const slice = log.read(topic, { from: next, limit: most, maxBytes, ...since })
    const passed = slice.end - next - slice.events.length
    for (const event of slice.events) {
      passOver(event.sequence)
      next++
      if (progress.isDone(event.sequence)) continue
      const count = counts.get(event.sequence) ?? 0
      counts.delete(event.sequence)
      taken.push(lease(event, count + 1, member))
    }
    passOver(slice.end)
    if (passed > 0) saveSoon()
    // Whoever waits looks on in another turn: there may be much to pass over.
    if (taken.length === 0 && slice.next !== undefined) setImmediate(pulls.wake)
  }

  function take(member: LogConsumer, limit: number, maxBytes: number): readonly EventDelivery[] {
    const taken: EventDelivery[] = []
    skipRemoved()
    const bytes = free.size > 0 ? takeFree(taken, member, limit, maxBytes) : 0
    takeNew(taken, member, limit, maxBytes - bytes)
    return taken
  }

  function leave(member: LogConsumer): void {
    if (!members.delete(member)) return
    pulls.leave(member)
    for (const one of inFlight.values()) {
      if (one.holder !== member) continue
      one.letGo(0)
      free.add(one)
    }
    if (free.size > 0) pulls.wake()
  }

  function end(): void {
    isOver = true
    for (const one of inFlight.values()) deadlines.remove(one)
    inFlight.clear()
    free.clear()
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
      if (isOver) return undefined
      const attempts = new Map(counts)
      // The first attempt of what is being worked on is not worth a write: it counts once the group is left.
      const least = members.size === 0 ? 1 : 2
      for (const { sequence, attempt } of inFlight.values())
        if (attempt >= least) attempts.set(sequence, attempt)
      return formatGroupState({ acked: progress.acked, ahead: progress.ahead, sinceMs, attempts })
    },
  }
}

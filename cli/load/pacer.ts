import type { Connection } from './connection.ts'

export interface PacerOptions {
  /** Requests per second. */
  readonly rate: number
  readonly startMs: number
  /** Nothing is due from here on. */
  readonly endMs: number
  readonly send: (connection: Connection, intendedMs: number) => void
}

/** Sends requests when they are due. */
export interface Pacer {
  /** The connection is free for the next request that is due. */
  readonly release: (connection: Connection) => void
  /** Sends what is due now to the connections that are free. */
  readonly sendDue: () => void
  /** Sends no more; returns how many were due by now and never sent, and tells how long each has waited. */
  readonly stop: (onOverdue?: (waitedMs: number) => void) => number
}

/** Timers are only good to a millisecond: nearer than this, the event loop is turned over instead. */
const SPIN_MS = 2

/**
 * A timetable with even gaps. A request that finds no free connection waits, and its latency
 * counts from the moment it was due: a gateway that stalls cannot slow its own measurement down
 * ("coordinated omission", Gil Tene).
 */
export function createPacer({ rate, startMs, endMs, send }: PacerOptions): Pacer {
  const free: (Connection | undefined)[] = []
  let head = 0
  let next = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let immediate: NodeJS.Immediate | undefined

  const dueMs = () => startMs + (next * 1000) / rate

  const sendDue = () => {
    let now = performance.now()
    while (head < free.length && dueMs() <= now && dueMs() < endMs) {
      const connection = free[head]!
      free[head++] = undefined
      send(connection, dueMs())
      next++
      now = performance.now()
    }
    // First in, first out, so that all connections are used; the spent front is cut off now and then.
    if (head > 1024 || head === free.length) {
      free.splice(0, head)
      head = 0
    }
  }

  const pump = () => {
    timer = undefined
    immediate = undefined
    sendDue()
    if (stopped || free.length === head || dueMs() >= endMs) return
    const gapMs = dueMs() - performance.now()
    if (gapMs > SPIN_MS) timer = setTimeout(pump, gapMs - SPIN_MS)
    else immediate = setImmediate(pump)
  }

  return {
    sendDue,
    release(connection) {
      free.push(connection)
      if (!stopped && timer === undefined && immediate === undefined) pump()
    },
    stop(onOverdue) {
      stopped = true
      clearTimeout(timer)
      clearImmediate(immediate)
      const now = performance.now()
      const until = Math.min(now, endMs)
      let overdue = 0
      for (; dueMs() < until; next++) {
        overdue++
        onOverdue?.(now - dueMs())
      }
      return overdue
    },
  }
}

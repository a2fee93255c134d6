import type { Connection } from './connection.ts'

export interface PacerOptions {
  /** Requests per second. */
  readonly rate: number
  readonly startMs: number
  /** Time from which no more requests are due. */
  readonly endMs: number
  readonly send: (connection: Connection, intendedMs: number) => void
}

/** Sends requests on a schedule. */
export interface Pacer {
  /** Marks a connection as free for the next due request. */
  readonly release: (connection: Connection) => void
  /** Sends due requests on free connections. */
  readonly sendDue: () => void
  /** Stops the schedule. Returns the number of due requests that were not sent, and reports the wait time of each. */
  readonly stop: (onOverdue?: (waitedMs: number) => void) => number
}

/** Timers have a resolution of 1 ms, so `setImmediate` polls for shorter waits. */
const SPIN_MS = 2

/**
 * Creates a schedule with even intervals. A request without a free connection waits, and its latency counts from the
 * time it was due, so that a stalled gateway cannot hide its latency ("coordinated omission", Gil Tene).
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
    // First in, first out, so that all connections are used. The consumed head is trimmed occasionally.
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

import { performance } from 'node:perf_hooks'

/** Resolution of deadlines in milliseconds. */
const TICK_MS = 20
/** Power of two. One revolution takes 20 s, longer than most deadlines. */
const SLOTS = 1024

/** Node of a doubly linked list. Links are undefined outside a list. */
interface Link {
  timedNext: Link | undefined
  timedPrev: Link | undefined
}

/** An object with a deadline. The wheel manages all fields except `onDeadline`. */
export interface Timed {
  /** Deadline as `performance.now()`; 0 if there never was one. */
  deadlineMs: number
  timedNext: Link | undefined
  timedPrev: Link | undefined
  /** Called once when the deadline expires. */
  onDeadline(): void
}

/**
 * Deadlines in a timing wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987, scheme 6): adding and
 * removing take constant time. Deadlines never expire early, and at most about 20 ms late. The timer only runs while
 * there are entries, and does not keep the process alive.
 */
export class Deadlines {
  size = 0
  readonly #now: () => number
  readonly #slots: Link[] = Array.from({ length: SLOTS }, createList)
  /** Expired entries whose callback has not run yet. */
  readonly #expired: Link = createList()
  #tick = 0
  #interval: NodeJS.Timeout | undefined = undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Adds an entry that is not in the wheel.
   *
   * @param knownMs current time, if known to the caller; 0 to read the clock.
   */
  add(entry: Timed, remainingMs: number, knownMs = 0): void {
    // Not the time of the last tick, which is long past after a stall: the call would expire before it is sent.
    const nowMs = knownMs === 0 ? this.#now() : knownMs
    if (this.#interval === undefined) this.#start(nowMs)
    const deadlineMs = nowMs + remainingMs
    entry.deadlineMs = deadlineMs
    this.size++
    append(this.#slots[(Math.floor(deadlineMs / TICK_MS) + 1) & (SLOTS - 1)]!, entry)
  }

  /** Removes an entry. No-op if it is not in the wheel. */
  remove(entry: Timed): void {
    if (entry.timedNext === undefined) return
    unlink(entry)
    this.size--
  }

  /** Returns the remaining milliseconds of an entry, at least 1. */
  left(entry: Timed): number {
    return Math.max(1, entry.deadlineMs - this.#now())
  }

  /** Runs the callbacks of expired entries. Called by the wheel's timer. */
  tick(): void {
    const nowMs = this.#now()
    const tick = Math.floor(nowMs / TICK_MS)
    // After a stall, a whole revolution may have passed; each slot is visited once.
    for (let i = Math.max(this.#tick + 1, tick - SLOTS + 1); i <= tick; i++) {
      this.#collect(this.#slots[i & (SLOTS - 1)]!, nowMs)
    }
    this.#tick = tick
    // One at a time, because a callback may add and remove entries.
    const expired = this.#expired
    for (let entry = expired.timedNext!; entry !== expired; entry = expired.timedNext!) {
      this.remove(entry as Timed)
      ;(entry as Timed).onDeadline()
    }
    if (this.size > 0) return
    clearInterval(this.#interval)
    this.#interval = undefined
  }

  /** Moves expired entries to the expired list. Entries of later revolutions stay. */
  #collect(slot: Link, nowMs: number): void {
    let entry = slot.timedNext!
    while (entry !== slot) {
      const next = entry.timedNext!
      if ((entry as Timed).deadlineMs <= nowMs) {
        unlink(entry)
        append(this.#expired, entry)
      }
      entry = next
    }
  }

  #start(nowMs: number): void {
    this.#tick = Math.floor(nowMs / TICK_MS)
    this.#interval = setInterval(() => this.tick(), TICK_MS).unref()
  }
}

/** Deadlines of all calls in the process. */
export const deadlines: Deadlines = new Deadlines()

function createList(): Link {
  const list: Link = { timedNext: undefined, timedPrev: undefined }
  list.timedNext = list
  list.timedPrev = list
  return list
}

function append(list: Link, entry: Link): void {
  const last = list.timedPrev!
  entry.timedPrev = last
  entry.timedNext = list
  last.timedNext = entry
  list.timedPrev = entry
}

function unlink(entry: Link): void {
  entry.timedPrev!.timedNext = entry.timedNext
  entry.timedNext!.timedPrev = entry.timedPrev
  entry.timedNext = undefined
  entry.timedPrev = undefined
}

import { performance } from 'node:perf_hooks'

/** How late a deadline may be noticed, milliseconds. */
const TICK_MS = 20
/** A turn of the wheel is 20 s: longer than most deadlines. Power of two. */
const SLOTS = 1024

/** An entry of a list, and of the wheel. Undefined links: in none. */
interface Link {
  timedNext: Link | undefined
  timedPrev: Link | undefined
}

/** What has a deadline. The fields but `onDeadline` belong to the wheel. */
export interface Timed {
  /** By when it must be over, `performance.now()`; 0: it never had a deadline. */
  deadlineMs: number
  timedNext: Link | undefined
  timedPrev: Link | undefined
  /** The deadline is over; called once. */
  onDeadline(): void
}

/**
 * Deadlines in a timing wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987,
 * scheme 6): adding and removing cost the same however many there are. Never early, late by some
 * 20 ms. Ticks only while it holds something, and keeps no process alive.
 */
export class Deadlines {
  /** Entries. */
  size = 0
  readonly #now: () => number
  readonly #slots: Link[] = Array.from({ length: SLOTS }, createList)
  /** What is over and not told yet. */
  readonly #over: Link = createList()
  #tick = 0
  #interval: NodeJS.Timeout | undefined = undefined

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Sets the deadline of an entry that is not in the wheel.
   *
   * @param knownMs the time, where the caller knows it; 0: it is asked for.
   */
  add(entry: Timed, leftMs: number, knownMs = 0): void {
    // The real time: after a stall the last tick is long ago, and the call would be over before it was sent.
    const nowMs = knownMs === 0 ? this.#now() : knownMs
    if (this.#interval === undefined) this.#start(nowMs)
    const deadlineMs = nowMs + leftMs
    entry.deadlineMs = deadlineMs
    this.size++
    append(this.#slots[(Math.floor(deadlineMs / TICK_MS) + 1) & (SLOTS - 1)]!, entry)
  }

  /** Takes an entry out; no harm when it is not in. */
  remove(entry: Timed): void {
    if (entry.timedNext === undefined) return
    unlink(entry)
    this.size--
  }

  /** Milliseconds an entry has left, at least 1. */
  left(entry: Timed): number {
    return Math.max(1, entry.deadlineMs - this.#now())
  }

  /** Tells the entries whose deadline is over. The wheel's own timer calls it. */
  tick(): void {
    const nowMs = this.#now()
    const tick = Math.floor(nowMs / TICK_MS)
    // After a stall a whole turn may have passed; more than one finds nothing new.
    for (let i = Math.max(this.#tick + 1, tick - SLOTS + 1); i <= tick; i++) {
      this.#collect(this.#slots[i & (SLOTS - 1)]!, nowMs)
    }
    this.#tick = tick
    // One by one: what is told may add and remove others.
    const over = this.#over
    for (let entry = over.timedNext!; entry !== over; entry = over.timedNext!) {
      this.remove(entry as Timed)
      ;(entry as Timed).onDeadline()
    }
    if (this.size > 0) return
    clearInterval(this.#interval)
    this.#interval = undefined
  }

  /** Moves what is over; what is a turn or more away stays. */
  #collect(slot: Link, nowMs: number): void {
    let entry = slot.timedNext!
    while (entry !== slot) {
      const next = entry.timedNext!
      if ((entry as Timed).deadlineMs <= nowMs) {
        unlink(entry)
        append(this.#over, entry)
      }
      entry = next
    }
  }

  #start(nowMs: number): void {
    this.#tick = Math.floor(nowMs / TICK_MS)
    this.#interval = setInterval(() => this.tick(), TICK_MS).unref()
  }
}

/** The deadlines of all calls of this process. */
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

import { AutoLimit } from './auto-limit.ts'
import type { ConcurrencyOptions, Priority } from './concurrency-options.ts'
import { WaitingRequests } from './waiting-requests.ts'

/** Reason why a request is shed. */
export type ShedReason = 'full' | 'timeout'

/** A request in the queue or with a slot. */
export interface Ticket {
  readonly priority: Priority
  /** Called when a waiting request gets a slot or has left the queue. */
  onReady: () => void
  /** Called when a waiting request is shed. */
  onShed: (reason: ShedReason) => void
  state: 'new' | 'waiting' | 'active' | 'ended'
  /** `performance.now()` when the request got its slot. */
  startMs: number
  timer: NodeJS.Timeout | undefined
}

/** Slots for requests in progress, with a priority queue. */
export class Limiter {
  /** Number of requests in progress. */
  active = 0
  /** Number of nodes, each with this limit. @default 1 */
  units = 1
  #options: ConcurrencyOptions
  #auto: AutoLimit | undefined
  readonly #waiting = new WaitingRequests<Ticket>()

  constructor(options: ConcurrencyOptions) {
    this.#options = options
    this.#auto = options.limit === 'auto' ? new AutoLimit() : undefined
  }

  get options(): ConcurrencyOptions {
    return this.#options
  }

  /** Current limit per node, service or account. */
  get limit(): number {
    return this.#auto === undefined ? (this.#options.limit as number) : Math.floor(this.#auto.limit)
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Applies changed options. Queued requests stay queued, and immediately get the slots added by a higher limit. */
  configure(options: ConcurrencyOptions): void {
    if (options.limit !== this.#options.limit)
      this.#auto = options.limit === 'auto' ? new AutoLimit() : undefined
    this.#options = options
    this.#grantFree()
  }

  /** Assigns a slot to the request if one is available. */
  enter(ticket: Ticket): boolean {
    if (this.#waiting.size > 0) this.#grantFree()
    if (this.active >= this.limit * this.units) return false
    this.#grant(ticket)
    return true
  }

  /**
   * Queues a request. If the queue is full, it replaces a request with a lower priority. Returns false if the request
   * must be shed.
   */
  wait(ticket: Ticket): boolean {
    const { queue, queueTimeoutMs } = this.#options
    if (queue === 0 || queueTimeoutMs === 0) return false
    if (this.#waiting.size >= queue) {
      const shed = this.#waiting.takeBelow(ticket.priority)
      if (shed === undefined) return false
      this.#end(shed)
      shed.onShed('full')
    }
    ticket.state = 'waiting'
    ticket.timer = setTimeout(() => {
      this.#waiting.remove(ticket)
      this.#end(ticket)
      ticket.onShed('timeout')
    }, queueTimeoutMs)
    this.#waiting.add(ticket)
    return true
  }

  /**
   * Ends the request, which frees its slot or its position in the queue. Later calls have no effect.
   *
   * @param endMs start of the response, for the `auto` limit; 0 if the duration does not count.
   */
  release(ticket: Ticket, endMs: number): void {
    const { state } = ticket
    if (state === 'waiting') {
      this.#waiting.remove(ticket)
      this.#end(ticket)
      ticket.onReady()
    } else if (state === 'active') {
      ticket.state = 'ended'
      this.active--
      if (endMs > 0) this.#auto?.add(ticket.startMs, endMs, this.active / this.units)
      this.#grantFree()
    }
  }

  #grantFree(): void {
    while (this.active < this.limit * this.units) {
      const next = this.#waiting.takeNext()
      if (next === undefined) return
      clearTimeout(next.timer)
      this.#grant(next)
      next.onReady()
    }
  }

  #grant(ticket: Ticket): void {
    this.active++
    ticket.state = 'active'
    ticket.startMs = performance.now()
  }

  #end(ticket: Ticket): void {
    clearTimeout(ticket.timer)
    ticket.state = 'ended'
  }
}

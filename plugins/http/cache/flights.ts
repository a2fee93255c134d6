import { LRUCache } from 'lru-cache'

/**
 * Result of waiting for another request: a response that may have been stored (`stored`), a response that cannot be
 * shared (`unshared`), no response because the client of the other request disconnected (`canceled`), or none within
 * the time limit (`late`).
 */
export type FlightResult = 'stored' | 'unshared' | 'canceled' | 'late'

export interface FlightLimits {
  /** Maximum time that requests wait, in milliseconds. */
  readonly timeoutMs: number
  /** Maximum number of waiting requests; others are forwarded. */
  readonly maxWaiting: number
}

/** Number of keys whose responses are known to be uncacheable. */
const UNSHARED_MAX = 10_000
/** Time during which requests for an uncacheable response do not wait, in milliseconds. */
const UNSHARED_MS = 10_000

/** Requests in flight by key: concurrent requests for one response wait for the first (request collapsing). */
export class Flights {
  /** Number of waiting requests. */
  waiting = 0
  readonly #limits: FlightLimits
  readonly #flights = new Map<string, Flight>()
  readonly #unshared: LRUCache<string, true>

  constructor(limits: FlightLimits) {
    this.#limits = limits
    this.#unshared = new LRUCache({ max: UNSHARED_MAX, ttl: UNSHARED_MS, ttlResolution: 100 })
  }

  /** Returns the request to wait for; undefined if absent, or if too many requests wait. */
  find(key: string): Flight | undefined {
    const flight = this.#flights.get(key)
    if (flight?.isLate === true || this.waiting >= this.#limits.maxWaiting) return undefined
    return flight
  }

  /** Starts a request that others wait for. Returns undefined if they should not wait. */
  begin(key: string): Flight | undefined {
    if (this.#limits.timeoutMs === 0 || this.#flights.has(key) || this.#unshared.has(key))
      return undefined
    const flight = new Flight(this.#limits.timeoutMs, {
      onWait: (count) => {
        this.waiting += count
      },
      onEnd: (result) => {
        this.#flights.delete(key)
        if (result === 'unshared') this.#unshared.set(key, true)
        else if (result === 'stored') this.#unshared.delete(key)
      },
    })
    this.#flights.set(key, flight)
    return flight
  }
}

interface FlightEvents {
  /** @param change in the number of waiting requests. */
  readonly onWait: (change: number) => void
  readonly onEnd: (result: FlightResult) => void
}

/** A request that others wait for. */
export class Flight {
  /** Whether the time limit has passed, so that no more requests wait. */
  isLate = false
  readonly #timeoutMs: number
  readonly #events: FlightEvents
  #waiting: ((result: FlightResult) => void)[] = []
  #timer: NodeJS.Timeout | undefined = undefined
  #isOver = false

  constructor(timeoutMs: number, events: FlightEvents) {
    this.#timeoutMs = timeoutMs
    this.#events = events
  }

  /** Resolves at the end of the request or at the time limit, which starts with the first call. */
  wait(): Promise<FlightResult> {
    this.#timer ??= setTimeout(() => {
      this.isLate = true
      this.#release('late')
    }, this.#timeoutMs)
    this.#events.onWait(1)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends the flight. Ignored after the first call. */
  end(result: FlightResult): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#events.onEnd(result)
    this.#release(result)
  }

  #release(result: FlightResult): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#events.onWait(-waiting.length)
    for (const resolve of waiting) resolve(result)
  }
}

import { clock, toDeadline } from '../../../lib/time/coarse-clock.ts'
import type { UpstreamCall } from '../call.ts'
import { Http1Connection } from '../http1/connection.ts'
import type { ConnectionOwner, Http1Options } from '../http1/connection-options.ts'
import { HeadMemory } from '../http1/reply-head-cache.ts'
import {
  type ConnectionBudget,
  returnConnection,
  type SweptPool,
  takeConnection,
  watchPool,
} from './pool-sweeper.ts'

export interface PoolOptions extends Http1Options {
  /** Budget shared with other pools. @default unlimited */
  readonly budget?: ConnectionBudget
  /** Maximum number of pipelined idempotent requests per connection; 1 disables pipelining. */
  readonly pipeline: number
  /** Maximum number of connections to the node. */
  readonly maxConnections: number
  /** Maximum number of calls waiting for a connection. */
  readonly maxWaiting: number
}

/** Shorter idle times do not indicate a limit, since servers also close connections for other reasons. */
const LEARNED_MIN_MS = 400
/** Idle times within one sweep that differ by more indicate a server that is shutting down, not an idle limit. */
const SPREAD_MAX_MS = 500
/** Safety margin before a learned limit: a tenth, plus the error of the clock. */
const MARGIN = 0.1
const CLOCK_MS = 200
/** Time after which a learned limit expires unless another close confirms it. */
const LEARNED_TTL_MS = 10 * 60_000

/**
 * A limited number of HTTP/1.1 connections to a node. Idle connections are reused, most recently used first, and closed
 * after a while.
 */
export class Pool implements SweptPool, ConnectionOwner {
  readonly memory: HeadMemory = new HeadMemory()
  readonly #options: PoolOptions
  readonly #connections = new Set<Http1Connection>()
  readonly #idle: Http1Connection[] = []
  /** Connections with pipelined calls. */
  readonly #pipelined: Http1Connection[] = []
  readonly #waiting: { readonly call: UpstreamCall; readonly untilMs: number }[] = []
  #closed = false
  /** Milliseconds after which the node is assumed to close an unused connection. */
  #idleLimitMs = Number.POSITIVE_INFINITY
  #learnedUntilMs = 0
  /** Range of idle times of connections closed by the node since the last sweep. */
  #shortestMs = Number.POSITIVE_INFINITY
  #longestMs = 0

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Number of open connections. */
  get size(): number {
    return this.#connections.size
  }

  get replyTimeoutMs(): number {
    return this.#options.timeouts.replyMs
  }

  get connectTimeoutMs(): number {
    return this.#options.timeouts.connectMs
  }

  /**
   * Sends a call on a separate connection, or pipelined if the node and the call permit it. Calls are queued while all
   * connections are busy.
   */
  dispatch(call: UpstreamCall): void {
    // First come, first served: pipelined calls must not starve a call that needs a separate connection.
    const connection = this.#waiting.length === 0 ? this.#find(call) : undefined
    if (connection !== undefined) return connection.send(call)
    if (this.#waiting.length < this.#options.maxWaiting) {
      this.#waiting.push({ call, untilMs: toDeadline(this.#options.timeouts.connectMs) })
      watchPool(this)
    } else this.#reject(call)
  }

  /** Cancels a call in any state. */
  cancel(call: UpstreamCall): void {
    const { connection } = call
    if (connection !== undefined) return connection.cancel(call)
    const at = this.#waiting.findIndex((waiting) => waiting.call === call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  /** Closes unused connections immediately, and used connections when their calls have ended. */
  close(): void {
    this.#closed = true
    for (const connection of [...this.#connections]) if (connection.load === 0) connection.destroy()
  }

  closeUnused(budget: ConnectionBudget): void {
    if (this.#options.budget === budget) this.#idle[0]?.destroy()
  }

  get idle(): boolean {
    return this.#connections.size === 0 && this.#waiting.length === 0
  }

  sweep(): void {
    this.#learn()
    for (const connection of this.#connections) connection.sweep()
    while (this.#waiting[0] !== undefined && clock.nowMs > this.#waiting[0].untilMs) {
      this.#reject(this.#waiting.shift()!.call)
    }
    // Another pool may have freed part of the budget.
    this.#serveWaiting()
  }

  onIdle(connection: Http1Connection): void {
    if (this.#closed && this.#waiting.length === 0) {
      if (connection.load === 0) connection.destroy()
      return
    }
    if (this.#options.pipeline === 1 || !this.#pipelined.includes(connection))
      this.#idle.push(connection)
    this.#serveWaiting()
  }

  onClosed(connection: Http1Connection): void {
    if (!this.#connections.delete(connection)) return
    returnConnection(this.#options.budget)
    remove(this.#idle, connection)
    remove(this.#pipelined, connection)
    this.#serveWaiting()
  }

  onIdleClose(idleMs: number): void {
    this.#shortestMs = Math.min(this.#shortestMs, idleMs)
    this.#longestMs = Math.max(this.#longestMs, idleMs)
  }

  onUnsent(call: UpstreamCall): void {
    call.isRepeat = true
    this.dispatch(call)
  }

  #reject(call: UpstreamCall): void {
    const detail = `all ${this.#options.maxConnections} connections to the backend are busy`
    call.onFailure({ kind: 'full', detail, collateral: false })
  }

  /** Returns a connection that accepts this call now. */
  #find({ idempotent, bodyLength, isRepeat }: UpstreamCall): Http1Connection | undefined {
    if (isRepeat) {
      const added = this.#openInPlace()
      if (added !== undefined || this.#options.pipeline === 1) return added
    }
    if (this.#options.pipeline > 1) {
      if (idempotent && bodyLength === 0) return this.#findShared()
      const unused = this.#findIdle() ?? this.#open()
      if (unused !== undefined) return unused
      const shared = this.#pipelined.find(({ load }) => load === 0)
      if (shared !== undefined) remove(this.#pipelined, shared)
      return shared
    }
    return this.#findIdle() ?? this.#open()
  }

  /** Returns the least loaded pipelined connection. */
  #findShared(): Http1Connection | undefined {
    let best: Http1Connection | undefined
    for (const connection of this.#pipelined) {
      if (connection.streaming || connection.isOld) continue
      if (best === undefined || connection.load < best.load) best = connection
    }
    if (best !== undefined && best.load < this.#options.pipeline) return best
    const added = this.#findIdle() ?? this.#open()
    if (added !== undefined) this.#pipelined.push(added)
    return added
  }

  #findIdle(): Http1Connection | undefined {
    for (;;) {
      const idle = this.#idle.pop()
      if (idle === undefined) return undefined
      if (idle.closed) continue
      if (idle.served === 0 || clock.nowMs <= this.#idleUntilMs(idle)) return idle
      this.#drop(idle)
    }
  }

  /**
   * Opens a connection that replaces the one with the longest idle time, so that retries do not pile up connections to
   * a healthy node.
   */
  #openInPlace(): Http1Connection | undefined {
    const longest = this.#idle.shift()
    if (longest !== undefined) this.#drop(longest)
    return this.#open()
  }

  /** Closes a connection removed from the lists; its slot belongs to the caller. */
  #drop(connection: Http1Connection): void {
    if (this.#connections.delete(connection)) returnConnection(this.#options.budget)
    connection.destroy()
  }

  #idleUntilMs({ idleUntilMs, idleSinceMs }: Http1Connection): number {
    return Math.min(idleUntilMs, idleSinceMs + this.#idleLimitMs)
  }

  /**
   * Derives the idle limit of the node from the closes since the last sweep, and closes connections unused for nearly
   * as long.
   */
  #learn(): void {
    const shortestMs = this.#shortestMs
    if (this.#longestMs > 0) {
      const isLimit = this.#longestMs - shortestMs <= SPREAD_MAX_MS && shortestMs >= LEARNED_MIN_MS
      this.#shortestMs = Number.POSITIVE_INFINITY
      this.#longestMs = 0
      if (isLimit) {
        this.#idleLimitMs = Math.min(this.#idleLimitMs, shortestMs * (1 - MARGIN) - CLOCK_MS)
        this.#learnedUntilMs = clock.nowMs + LEARNED_TTL_MS
      }
    }
    if (this.#idleLimitMs === Number.POSITIVE_INFINITY) return
    if (clock.nowMs > this.#learnedUntilMs) {
      this.#idleLimitMs = Number.POSITIVE_INFINITY
      return
    }
    while (this.#idle[0] !== undefined && clock.nowMs > this.#idleUntilMs(this.#idle[0])) {
      this.#drop(this.#idle.shift()!)
    }
  }

  #open(): Http1Connection | undefined {
    const { budget, maxConnections } = this.#options
    if (this.#connections.size >= maxConnections) return undefined
    if (!takeConnection(budget)) return undefined
    const connection = new Http1Connection(this.#options, this)
    this.#connections.add(connection)
    watchPool(this)
    return connection
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const { call } = this.#waiting[0]!
      const connection = this.#find(call)
      if (connection === undefined) return
      this.#waiting.shift()
      connection.send(call)
    }
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item)
  if (at >= 0) list.splice(at, 1)
}

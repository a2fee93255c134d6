import { clock, toDeadline } from '../../../lib/time/coarse-clock.ts'
import type { UpstreamFailure } from '../call.ts'
import {
  type ConnectionBudget,
  returnConnection,
  type SweptPool,
  takeConnection,
  watchPool,
} from '../pool/pool-sweeper.ts'
import {
  type Http2Call,
  type Http2Options,
  type Http2Owner,
  Http2UpstreamConnection,
} from './connection.ts'

export interface Http2PoolOptions extends Http2Options {
  /** Budget shared with other pools. @default unlimited */
  readonly budget?: ConnectionBudget
  /** Maximum number of connections to the node. */
  readonly maxConnections: number
  /** Maximum number of calls waiting for a connection. */
  readonly maxWaiting: number
}

/**
 * HTTP/2 connections to a node: one connection, and more when the backend's stream limit is reached.
 *
 * After GOAWAY, a connection completes its calls. Calls known to be unprocessed are sent once more on another
 * connection.
 */
export class Http2Pool implements SweptPool {
  readonly #options: Http2PoolOptions
  readonly #connections = new Set<Http2UpstreamConnection>()
  readonly #waiting: { readonly call: Http2Call; readonly untilMs: number }[] = []
  readonly #owner: Http2Owner = {
    onReady: () => this.#serveWaiting(),
    onCapacity: (connection) => this.#reuse(connection),
    onClosed: (connection, failure) => this.#forget(connection, failure),
    onUnsent: (call) => this.resend(call),
  }
  #closed = false

  constructor(options: Http2PoolOptions) {
    this.#options = options
  }

  /** Number of open connections. */
  get size(): number {
    return this.#connections.size
  }

  get idle(): boolean {
    return this.#connections.size === 0 && this.#waiting.length === 0
  }

  /** Milliseconds from the end of a request to the head of its response. */
  get replyTimeoutMs(): number {
    return this.#options.timeouts.replyMs
  }

  /** Milliseconds within which a backend must read part of a pending request. */
  get idleTimeoutMs(): number {
    return this.#options.timeouts.idleMs
  }

  get secure(): boolean {
    return this.#options.secure
  }

  /** Sends a call once a connection has room. */
  dispatch(call: Http2Call): void {
    const connection = this.#waiting.length === 0 ? this.#find() : undefined
    if (connection !== undefined) return connection.send(call)
    const { maxWaiting, timeouts } = this.#options
    if (this.#waiting.length >= maxWaiting) return this.#reject(call)
    this.#waiting.push({ call, untilMs: toDeadline(timeouts.connectMs) })
    watchPool(this)
    this.#openForWaiting()
  }

  /** Resends a call that is known to be unprocessed. */
  resend(call: Http2Call): void {
    if (!call.resent) {
      call.resent = true
      return this.dispatch(call)
    }
    const detail = 'the backend accepts no more calls'
    call.onFailure({ kind: 'full', detail, collateral: true })
  }

  /** Cancels a call that has no stream yet. */
  cancel(call: Http2Call): void {
    const at = this.#waiting.findIndex((waiting) => waiting.call === call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  /** Closes unused connections immediately, and used connections when their calls have ended. */
  close(): void {
    this.#closed = true
    if (this.#waiting.length > 0) return
    for (const connection of [...this.#connections]) connection.close()
  }

  closeUnused(budget: ConnectionBudget): void {
    if (this.#options.budget !== budget) return
    for (const connection of this.#connections) {
      if (connection.ready && connection.load === 0) return connection.destroy()
    }
  }

  sweep(): void {
    for (const connection of [...this.#connections]) connection.sweep()
    while (this.#waiting[0] !== undefined && clock.nowMs > this.#waiting[0].untilMs)
      this.#reject(this.#waiting.shift()!.call)
    // Another pool may have freed part of the budget.
    this.#serveWaiting()
  }

  #reject(call: Http2Call): void {
    const detail = `all ${this.#options.maxConnections} connections to the backend are busy`
    call.onFailure({ kind: 'full', detail, collateral: false })
  }

  /** Returns the least loaded connection with room. */
  #find(): Http2UpstreamConnection | undefined {
    let best: Http2UpstreamConnection | undefined
    for (const connection of this.#connections) {
      if (connection.hasRoom && (best === undefined || connection.load < best.load))
        best = connection
    }
    return best
  }

  #serveWaiting(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#find()
      if (connection === undefined) return this.#openForWaiting()
      connection.send(this.#waiting.shift()!.call)
    }
    if (this.#closed) this.close()
  }

  /** Opens one connection at a time, since it may have room for all waiting calls. */
  #openForWaiting(): void {
    const { budget, maxConnections } = this.#options
    for (const { ready, closed } of this.#connections) if (!ready && !closed) return
    if (this.#connections.size >= maxConnections || !takeConnection(budget)) return
    this.#connections.add(new Http2UpstreamConnection(this.#options, this.#owner))
    watchPool(this)
  }

  #reuse(connection: Http2UpstreamConnection): void {
    this.#serveWaiting()
    if (this.#closed && connection.load === 0) connection.close()
  }

  #forget(connection: Http2UpstreamConnection, failure: UpstreamFailure | undefined): void {
    if (!this.#connections.delete(connection)) return
    returnConnection(this.#options.budget)
    if (failure === undefined || this.#find() !== undefined) return this.#serveWaiting()
    // The backend is unreachable, so all waiting calls fail instead of causing separate attempts.
    for (const { call } of this.#waiting.splice(0)) call.onFailure(failure)
  }
}

import { clock } from '../clock.ts'
import type { UpstreamCall } from './call.ts'
import { HeadMemory } from './head-memory.ts'
import { type ConnectionOwner, Http1Connection, type Http1Options } from './http1.ts'
import {
  type ClockedPool,
  type ConnectionBudget,
  returnConnection,
  takeConnection,
  watchPool,
} from './pool-clock.ts'

export interface PoolOptions extends Http1Options {
  /** Shared with other pools. @default unlimited */
  readonly budget?: ConnectionBudget
  /** Idempotent requests written ahead on one connection; 1: none. */
  readonly pipeline: number
  /** Most connections to the node. */
  readonly maxConnections: number
  /** Most calls that wait for a connection. */
  readonly maxWaiting: number
}

/** The connections to one node. Those in use are bounded, those unused are kept for a while, the latest used first. */
export class Pool implements ClockedPool, ConnectionOwner {
  readonly memory: HeadMemory = new HeadMemory()
  readonly #options: PoolOptions
  readonly #connections = new Set<Http1Connection>()
  readonly #idle: Http1Connection[] = []
  /** Connections that take several calls at a time. */
  readonly #pipelined: Http1Connection[] = []
  readonly #waiting: { readonly call: UpstreamCall; readonly untilMs: number }[] = []
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Open connections. */
  get size(): number {
    return this.#connections.size
  }

  /** Milliseconds a connection to the node may take. */
  get connectTimeoutMs(): number {
    return this.#options.timeouts.connectMs
  }

  /** Sends a call on a connection of its own, or behind others where the node pipelines and the call allows it; later, when all are busy. */
  dispatch(call: UpstreamCall): void {
    // First come, first served: no stream of pipelined calls may keep out one that wants a connection for itself.
    const connection = this.#waiting.length === 0 ? this.#find(call) : undefined
    if (connection !== undefined) return connection.send(call)
    if (this.#waiting.length < this.#options.maxWaiting) {
      this.#waiting.push({ call, untilMs: clock.nowMs + this.#options.timeouts.connectMs })
      watchPool(this)
    } else this.#refuse(call)
  }

  /** Gives a call up, wherever it is. */
  cancel(call: UpstreamCall): void {
    const { connection } = call
    if (connection !== undefined) return connection.cancel(call)
    const at = this.#waiting.findIndex((waiting) => waiting.call === call)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  /** Closes unused connections now and the others when their calls are done. */
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
    for (const connection of this.#connections) connection.sweep()
    while (this.#waiting[0] !== undefined && clock.nowMs > this.#waiting[0].untilMs) {
      this.#refuse(this.#waiting.shift()!.call)
    }
    // Another pool may have given room to the budget since.
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

  onGone(connection: Http1Connection): void {
    if (!this.#connections.delete(connection)) return
    returnConnection(this.#options.budget)
    remove(this.#idle, connection)
    remove(this.#pipelined, connection)
    this.#serveWaiting()
  }

  onUnsent(call: UpstreamCall): void {
    this.dispatch(call)
  }

  #refuse(call: UpstreamCall): void {
    const detail = `all ${this.#options.maxConnections} connections to the backend are busy`
    call.onFailure({ kind: 'full', detail, collateral: false })
  }

  /** A connection that takes this call now. */
  #find({ idempotent, bodyLength }: UpstreamCall): Http1Connection | undefined {
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

  /** The least loaded of the connections that are written ahead on. */
  #findShared(): Http1Connection | undefined {
    let best: Http1Connection | undefined
    for (const connection of this.#pipelined) {
      if (connection.streaming) continue
      if (best === undefined || connection.load < best.load) best = connection
    }
    if (best !== undefined && best.load < this.#options.pipeline) return best
    const added = this.#findIdle() ?? this.#open()
    if (added !== undefined) this.#pipelined.push(added)
    return added
  }

  #findIdle(): Http1Connection | undefined {
    let idle = this.#idle.pop()
    while (idle?.closed) idle = this.#idle.pop()
    return idle
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

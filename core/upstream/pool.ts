import { clock } from '../clock.ts'
import type { UpstreamCall } from './call.ts'
import { type ConnectionOwner, Http1Connection, type Http1Options } from './http1.ts'

export interface PoolOptions extends Http1Options {
  /** Idempotent requests written ahead on one connection; 1: none. */
  readonly pipeline: number
  /** Most connections to the node. */
  readonly maxConnections: number
  /** Most calls that wait for a connection. */
  readonly maxWaiting: number
}

/** How often the connections are looked through for what has taken too long. */
const SWEEP_MS = 200

const pools = new Set<Pool>()
let sweeper: NodeJS.Timeout | undefined

/** The connections to one node. Those in use are bounded, those unused are kept for a while, the latest used first. */
export class Pool {
  readonly #options: PoolOptions
  readonly #connections = new Set<Http1Connection>()
  readonly #idle: Http1Connection[] = []
  /** Connections that take several calls at a time. */
  readonly #pipelined: Http1Connection[] = []
  readonly #waiting: { readonly call: UpstreamCall; readonly untilMs: number }[] = []
  readonly #owner: ConnectionOwner = {
    memory: [],
    onIdle: (connection) => this.#reuse(connection),
    onGone: (connection) => this.#forget(connection),
  }
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
    pools.add(this)
    sweeper ??= setInterval(sweepPools, SWEEP_MS).unref()
  }

  /** Open connections. */
  get size(): number {
    return this.#connections.size
  }

  /** Sends a call on a connection of its own, or behind others where the node pipelines and the call allows it. */
  dispatch(call: UpstreamCall): void {
    if (this.#options.pipeline > 1 && call.idempotent && call.bodyLength === 0) {
      this.#leastLoaded().send(call)
      return
    }
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.closed) return idle.send(call)
    }
    if (this.#connections.size < this.#options.maxConnections) return this.#open().send(call)
    if (this.#waiting.length < this.#options.maxWaiting) {
      this.#waiting.push({ call, untilMs: clock.nowMs + this.#options.connectTimeoutMs })
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
    pools.delete(this)
    for (const connection of [...this.#connections]) if (connection.load === 0) connection.destroy()
    if (this.#connections.size > 0) pools.add(this)
  }

  /** For the clock. */
  sweep(): void {
    for (const connection of this.#connections) connection.sweep()
    while (this.#waiting[0] !== undefined && clock.nowMs > this.#waiting[0].untilMs) {
      this.#refuse(this.#waiting.shift()!.call)
    }
    if (this.#closed && this.#connections.size === 0) pools.delete(this)
  }

  #refuse(call: UpstreamCall): void {
    const detail = `all ${this.#options.maxConnections} connections to the backend are busy`
    call.onFailure({ kind: 'full', detail })
  }

  #leastLoaded(): Http1Connection {
    let best: Http1Connection | undefined
    for (const connection of this.#pipelined) {
      if (best === undefined || connection.load < best.load) best = connection
    }
    const full = best === undefined || best.load >= this.#options.pipeline
    if (best !== undefined && (!full || this.#connections.size >= this.#options.maxConnections))
      return best
    const connection = this.#open()
    this.#pipelined.push(connection)
    return connection
  }

  #open(): Http1Connection {
    const connection = new Http1Connection(this.#options, this.#owner)
    this.#connections.add(connection)
    return connection
  }

  #reuse(connection: Http1Connection): void {
    if (this.#closed) {
      if (connection.load === 0) connection.destroy()
      return
    }
    if (this.#options.pipeline > 1 && this.#pipelined.includes(connection)) return
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(connection)
    else connection.send(next.call)
  }

  #forget(connection: Http1Connection): void {
    this.#connections.delete(connection)
    remove(this.#idle, connection)
    remove(this.#pipelined, connection)
    const next = this.#waiting.shift()
    if (next !== undefined) this.dispatch(next.call)
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item)
  if (at >= 0) list.splice(at, 1)
}

function sweepPools(): void {
  for (const pool of pools) pool.sweep()
  if (pools.size > 0) return
  clearInterval(sweeper)
  sweeper = undefined
}

import { Histogram } from '../../core/metrics/histogram.ts'
import { Connection, type RequestFailure } from './connection.ts'
import { createPacer, type Pacer } from './pacer.ts'
import type { ReplyReader } from './reply-reader.ts'
import type { Target } from './request.ts'
import { parseServerTiming } from './server-timing.ts'

export interface LoadOptions {
  readonly target: Target
  readonly connections: number
  readonly durationMs: number
  /**
   * Requests per second, independent of responses. If undefined, each connection sends its next request after the
   * response.
   */
  readonly rate?: number | undefined
  /** Timeout for a request and for opening a connection. */
  readonly timeoutMs: number
  /** Ends the run early; the result contains the measurements so far. */
  readonly signal?: AbortSignal | undefined
  /** Called twice a second. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Measurements of the last half second of a run. */
export interface Progress {
  readonly elapsedMs: number
  readonly requestsPerSecond: number
  readonly p99Ms: number
  /** Number of errors since the start: requests without a complete response, and responses with status 400 or above. */
  readonly errors: number
}

/** Latency in milliseconds. */
export interface Latency {
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

export interface LoadResult {
  readonly elapsedMs: number
  readonly sent: number
  readonly replies: number
  readonly requestsPerSecond: number
  readonly bytesIn: number
  /**
   * Durations of responses, timeouts and overdue requests. At a fixed rate, they are measured from the scheduled send
   * time.
   */
  readonly latency: Latency
  /** Responses by status code. */
  readonly statuses: Readonly<Record<string, number>>
  readonly failures: Readonly<Record<RequestFailure, number>>
  /** Number of due requests that had no free connection until the end. */
  readonly overdue: number
  /** Number of requests in flight when the run was ended early. */
  readonly unfinished: number
  /** Means over all responses with `Server-Timing`. */
  readonly serverTiming:
    | { readonly replies: number; readonly gatewayMs: number; readonly upstreamMs: number }
    | undefined
  readonly interrupted: boolean
}

const CHECK_MS = 25
const PROGRESS_MS = 500
/** Back-off after a connection could not be opened. */
const PAUSE_MS = 100

/**
 * Runs a load test with one request.
 *
 * @throws {Error} if no connection can be opened
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const run = new Run(options)
  await run.open()
  return run.measure()
}

class Run {
  readonly #options: LoadOptions
  readonly #connections: readonly Connection[]
  readonly #latency = new Histogram()
  readonly #recent = new Histogram()
  readonly #statuses = new Uint32Array(1000)
  readonly #failures: Record<RequestFailure, number> = {
    refused: 0,
    unreachable: 0,
    reset: 0,
    closed: 0,
    timeout: 0,
    malformed: 0,
  }
  readonly #paused: Connection[] = []
  #pacer: Pacer | undefined = undefined
  #sentCount = 0
  #replies = 0
  #errors = 0
  #running = 0
  #startMs = 0
  #endMs = 0
  #lastReplyMs = 0
  #stopped = false
  #timings = 0
  #gatewayMs = 0
  #upstreamMs = 0
  #finish: () => void = () => {}

  constructor(options: LoadOptions) {
    this.#options = options
    const events = {
      onReply: (connection: Connection, reader: ReplyReader) => this.#onReply(connection, reader),
      onFailure: (connection: Connection, failure: RequestFailure) =>
        this.#onFailure(connection, failure),
    }
    this.#connections = Array.from(
      { length: options.connections },
      () => new Connection(options.target, events),
    )
  }

  /** Opens connections before the clock starts, so that handshakes are not measured. */
  async open(): Promise<void> {
    const results = await Promise.allSettled(
      this.#connections.map((connection) => connection.open(this.#options.timeoutMs)),
    )
    const failed = results.filter((result) => result.status === 'rejected')
    if (failed.length < results.length) return
    throw new Error(`cannot connect to ${this.#options.target.url}: ${describe(failed[0]?.reason)}`)
  }

  async measure(): Promise<LoadResult> {
    const { durationMs, rate, signal } = this.#options
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve
    })
    this.#startMs = performance.now()
    this.#endMs = this.#startMs + durationMs
    const onAbort = () => this.#finish()
    signal?.addEventListener('abort', onAbort)
    const check = setInterval(() => this.#check(), CHECK_MS)
    const progress = setInterval(() => this.#report(), PROGRESS_MS)
    if (signal?.aborted) this.#finish()
    else if (rate === undefined)
      for (const connection of this.#connections) this.#send(connection, performance.now())
    else {
      this.#pacer = createPacer({
        rate,
        startMs: this.#startMs,
        endMs: this.#endMs,
        send: (c, intendedMs) => this.#send(c, intendedMs),
      })
      for (const connection of this.#connections) this.#pacer.release(connection)
    }
    await finished
    clearInterval(check)
    clearInterval(progress)
    signal?.removeEventListener('abort', onAbort)
    return this.#toResult()
  }

  #send(connection: Connection, intendedMs: number): void {
    this.#sentCount++
    this.#running++
    connection.send(intendedMs)
  }

  #onReply(connection: Connection, reader: ReplyReader): void {
    const now = performance.now()
    this.#record(now - connection.intendedMs)
    this.#replies++
    this.#lastReplyMs = now
    this.#statuses[reader.status]!++
    if (reader.status >= 400) this.#errors++
    if (reader.serverTiming !== '') this.#addTiming(reader.serverTiming)
    this.#release(connection, now)
  }

  #onFailure(connection: Connection, failure: RequestFailure): void {
    const now = performance.now()
    this.#failures[failure]++
    this.#errors++
    // Timeouts are recorded, because otherwise the slowest requests would be missing in the percentiles.
    if (failure === 'timeout') this.#record(now - connection.intendedMs)
    if (failure === 'refused' || failure === 'unreachable')
      connection.pausedUntilMs = now + PAUSE_MS
    this.#release(connection, now)
  }

  #record(milliseconds: number): void {
    this.#latency.record(milliseconds * 1000)
    this.#recent.record(milliseconds * 1000)
  }

  #release(connection: Connection, now: number): void {
    this.#running--
    if (now >= this.#endMs) {
      if (this.#stopped && this.#running === 0) this.#finish()
    } else if (connection.pausedUntilMs > now) this.#paused.push(connection)
    else if (this.#pacer !== undefined) this.#pacer.release(connection)
    else this.#send(connection, now)
  }

  #check(): void {
    const now = performance.now()
    for (const connection of this.#connections) {
      if (connection.busy && now - connection.sentMs >= this.#options.timeoutMs) connection.expire()
    }
    if (now >= this.#endMs) {
      this.#pacer?.sendDue()
      this.#stopped = true
      if (this.#running === 0) this.#finish()
      return
    }
    for (const connection of this.#paused.splice(0)) {
      if (connection.pausedUntilMs > now) this.#paused.push(connection)
      else if (this.#pacer !== undefined) this.#pacer.release(connection)
      else this.#send(connection, now)
    }
  }

  #addTiming(value: string): void {
    const timing = parseServerTiming(value)
    if (timing === undefined) return
    this.#timings++
    this.#gatewayMs += timing.gatewayMs
    this.#upstreamMs += timing.upstreamMs
  }

  #report(): void {
    const { onProgress } = this.#options
    onProgress?.({
      elapsedMs: performance.now() - this.#startMs,
      requestsPerSecond: (this.#recent.count * 1000) / PROGRESS_MS,
      p99Ms: this.#recent.percentile(99) / 1000,
      errors: this.#errors,
    })
    this.#recent.reset()
  }

  #toResult(): LoadResult {
    const now = performance.now()
    const interrupted = now < this.#endMs
    const unfinished = this.#running
    const overdue = this.#pacer?.stop((waitedMs) => this.#record(waitedMs)) ?? 0
    for (const connection of this.#connections) connection.close()
    const elapsedMs = interrupted
      ? now - this.#startMs
      : Math.max(this.#endMs, this.#lastReplyMs) - this.#startMs
    const statuses: Record<string, number> = {}
    for (const [status, count] of this.#statuses.entries()) if (count > 0) statuses[status] = count
    const timings = this.#timings
    return {
      elapsedMs,
      sent: this.#sentCount,
      replies: this.#replies,
      requestsPerSecond: elapsedMs > 0 ? (this.#replies * 1000) / elapsedMs : 0,
      bytesIn: this.#connections.reduce((sum, connection) => sum + connection.bytesIn, 0),
      latency: toLatency(this.#latency),
      statuses,
      failures: this.#failures,
      overdue,
      unfinished,
      serverTiming:
        timings === 0
          ? undefined
          : {
              replies: timings,
              gatewayMs: this.#gatewayMs / timings,
              upstreamMs: this.#upstreamMs / timings,
            },
      interrupted,
    }
  }
}

function toLatency(histogram: Histogram): Latency {
  const at = (percent: number) => histogram.percentile(percent) / 1000
  return {
    mean: histogram.mean / 1000,
    p50: at(50),
    p90: at(90),
    p99: at(99),
    p999: at(99.9),
    max: histogram.max / 1000,
  }
}

/** Describes a connect error. A name with several addresses fails with an `AggregateError`. */
function describe(reason: unknown): string {
  const error = reason instanceof AggregateError ? reason.errors[0] : reason
  return error instanceof Error ? error.message : String(error)
}

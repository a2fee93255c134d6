import type { Exchange } from '../exchange.ts'

/** A failed or slow request. Texts may be empty and are truncated to 256 characters. */
export interface RecentRequest {
  /** End of the request, Unix time in milliseconds. */
  readonly time: number
  readonly id: string
  readonly trace_id: string
  readonly method: string
  /** Without the query, which may contain tokens. */
  readonly path: string
  /** 0 if the client disconnected before a response. */
  readonly status: number
  /** gRPC or Connect status; -1 if none. */
  readonly rpc_status: number
  /** See `RequestMetrics.durations`. */
  readonly duration_ms: number
  /** Full service name. */
  readonly service: string
  readonly error: string
}

/** Maximum number of requests in each of the two lists. */
export const MAX_RECENT = 200
const SLOW_MS = 1000
const MAX_TEXT = 256
const CLIENT_ERROR = 4

/**
 * The last requests that failed or took at least a second, in memory. 4xx requests are stored separately, so that a
 * scanner does not evict failures of services. Successful requests only cost a comparison.
 */
export class RecentRequests {
  readonly #clientErrors: RecentRequest[] = []
  readonly #others: RecentRequest[] = []

  /** Returns the requests, newest first. */
  list(): RecentRequest[] {
    const all = [...this.#clientErrors.toReversed(), ...this.#others.toReversed()]
    return all.sort((a, b) => b.time - a.time)
  }

  /** Adds a finished request if it failed or was slow. @param statusClass result of `toClass`. */
  add(x: Exchange, statusClass: number, durationMs: number): void {
    // Clients usually end streams by disconnecting.
    const isTruncated = x.aborted && !x.streaming
    const isSuccess = statusClass > 0 && statusClass < CLIENT_ERROR && !isTruncated
    if (isSuccess && durationMs < SLOW_MS) return
    const list = statusClass === CLIENT_ERROR ? this.#clientErrors : this.#others
    const { status, rpcStatus, trace, route, failure } = x
    const length = list.push({
      ...{ time: Date.now(), id: truncate(x.id), trace_id: trace?.traceId ?? '' },
      ...{ method: truncate(x.method), path: truncate(x.path), status, rpc_status: rpcStatus },
      ...{ duration_ms: durationMs, service: truncate(route?.service ?? '') },
      error: truncate(failure) || (isTruncated && status > 0 ? 'response aborted' : ''),
    })
    if (length > MAX_RECENT) list.shift()
  }
}

function truncate(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`
}

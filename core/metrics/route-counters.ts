import type { Exchange } from '../exchange.ts'
import { toHttpClass } from '../rpc/grpc/status-codes.ts'
import { Buckets, DURATION_MS, SIZE_BYTES } from './buckets.ts'

/** Label for routes and methods without their own label, as in OpenTelemetry's `http.request.method`. */
export const OTHER_ROUTES = '_OTHER'
/** Methods with their own label. */
export const LABELLED_METHODS: readonly string[] = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  OTHER_ROUTES,
]
/** Number of status classes: the first digits of a status, and 0 for no response. */
export const CLASSES = 10

/** Request counters of a route. */
export class RouteCounters {
  /** Service label (`toServiceLabel`); empty if the service was not found. */
  readonly service: string
  /** Endpoint name; empty if requests are proxied by path. */
  readonly endpoint: string
  /** Path template of the endpoint; empty if none. */
  readonly path: string
  /** Durations in milliseconds, by method, then by first status digit; undefined if none yet. */
  readonly durations: (Buckets | undefined)[] = new Array(LABELLED_METHODS.length * CLASSES).fill(
    undefined,
  )
  /** Time from sending a request upstream to the response head, including retries, in milliseconds. */
  readonly upstream: Buckets = new Buckets(DURATION_MS)
  /** Rest of the duration of measured requests, in milliseconds. */
  readonly gateway: Buckets = new Buckets(DURATION_MS)
  readonly bytesIn: Buckets = new Buckets(SIZE_BYTES)
  readonly bytesOut: Buckets = new Buckets(SIZE_BYTES)

  constructor(service: string, endpoint: string, path: string) {
    this.service = service
    this.endpoint = endpoint
    this.path = path
  }

  /**
   * Counts a finished request.
   *
   * @param exact whether the duration was measured, so that the time without the upstream is the time in the gateway.
   */
  count(x: Exchange, durationMs: number, exact: boolean): void {
    const at = toMethod(x.method) * CLASSES + toClass(x)
    const { durations } = this
    durations[at] ??= new Buckets(DURATION_MS)
    durations[at].record(durationMs)
    this.bytesIn.record(x.bytesIn)
    this.bytesOut.record(x.bytesOut)
    if (x.upstreamReplyMs > 0) {
      const upstreamMs = x.upstreamReplyMs - x.upstreamStartMs
      this.upstream.record(upstreamMs)
      if (exact) this.gateway.record(durationMs - upstreamMs)
    } else if (exact && x.upstreamStartMs === 0) this.gateway.record(durationMs)
  }
}

/** First digit of the status. A 200 response with a gRPC error counts as the equivalent HTTP status. */
export function toClass({ status, rpcStatus }: Pick<Exchange, 'status' | 'rpcStatus'>): number {
  return rpcStatus > 0 && status === 200 ? toHttpClass(rpcStatus) : (status / 100) | 0
}

/**
 * Index in {@link LABELLED_METHODS}. Not a map, because the method of each request is a new string that would have to
 * be hashed.
 */
function toMethod(method: string): number {
  switch (method) {
    case 'GET':
      return 0
    case 'HEAD':
      return 1
    case 'POST':
      return 2
    case 'PUT':
      return 3
    case 'PATCH':
      return 4
    case 'DELETE':
      return 5
    case 'OPTIONS':
      return 6
    default:
      return 7
  }
}

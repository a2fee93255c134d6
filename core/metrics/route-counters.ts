import type { Exchange } from '../exchange.ts'
import { toHttpClass } from '../rpc/grpc/status-codes.ts'
import { Buckets, DURATION_MS, SIZE_BYTES } from './buckets.ts'

/** What stands for everything that has no name of its own, as in OpenTelemetry's `http.request.method`. */
export const OTHER_ROUTES = '_OTHER'
/** Methods told apart. */
export const METHODS: readonly string[] = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  OTHER_ROUTES,
]
/** First digits a status may have, and 0 for what got no reply. */
export const CLASSES = 10

/** What is counted of the requests of a route. */
export class RouteCounters {
  /** Full name of the service; empty: none was found. */
  readonly service: string
  /** Name of the endpoint; empty: its service is asked for paths. */
  readonly endpoint: string
  /** The template that the endpoint declares; empty: it declares none. */
  readonly path: string
  /** Durations in milliseconds, by method, then first digit of the status; undefined: there was none yet. */
  readonly durations: (Buckets | undefined)[] = new Array(METHODS.length * CLASSES).fill(undefined)
  /** From when a request was sent to a node until the head of its reply, milliseconds; retries are in it. */
  readonly upstream: Buckets = new Buckets(DURATION_MS)
  /** The rest of the duration, milliseconds, of requests that were measured exactly. */
  readonly gateway: Buckets = new Buckets(DURATION_MS)
  /** Of request bodies. */
  readonly bytesIn: Buckets = new Buckets(SIZE_BYTES)
  /** Of the bodies of replies. */
  readonly bytesOut: Buckets = new Buckets(SIZE_BYTES)

  constructor(service: string, endpoint: string, path: string) {
    this.service = service
    this.endpoint = endpoint
    this.path = path
  }

  /**
   * Counts a request that is over.
   *
   * @param durationMs how long it took.
   * @param exact whether that was read from a clock just now: what is left of it without the node is the gateway's.
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

/** First digit of the status; of that of gRPC where a reply 200 tells of another one. */
export function toClass({ status, rpcStatus }: Pick<Exchange, 'status' | 'rpcStatus'>): number {
  return rpcStatus > 0 && status === 200 ? toHttpClass(rpcStatus) : (status / 100) | 0
}

/** Its place in {@link METHODS}. No map: each request's method is a new string, which would have to be hashed. */
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

import type { RecentRequest } from '../../core/metrics/recent-requests.ts'
import type { RequestPoint } from '../../core/metrics/request-history.ts'
import type { ServiceRate } from '../../core/metrics/service-rates.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'

/** Statistics for one second. */
export interface PointMessage {
  readonly time: number
  readonly seconds: number
  readonly requests: number
  readonly no_reply: number
  readonly status_1xx: number
  readonly status_2xx: number
  readonly status_3xx: number
  readonly status_4xx: number
  readonly status_5xx: number
  readonly aborted: number
  readonly in_flight: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly p50_ms?: number
  readonly p99_ms?: number
}

/** Statistics for consecutive seconds, oldest first. */
export interface StatsMessage {
  readonly points: readonly PointMessage[]
}

/** Request statistics of a service for the last minute. */
export interface ServiceStatsMessage {
  readonly service: string
  readonly requests_per_second: number
  /** Share of 5xx responses from 0 to 1; absent if there were no requests. */
  readonly error_share?: number
  readonly p50_ms?: number
  readonly p99_ms?: number
}

/** A route from requests to an endpoint. */
export interface RouteMessage {
  readonly service: string
  /** `Handler.Method`. If empty, requests are passed through unchanged. */
  readonly endpoint: string
  readonly handler: string
  /** Methods; any method if empty. */
  readonly methods: readonly string[]
  /** Hosts; any host if empty. */
  readonly hosts: readonly string[]
  /** Path template. */
  readonly path: string
  /** Whether the endpoint declares the route; otherwise, it is derived from the name. */
  readonly declared: boolean
}

export interface RoutesRequest {
  /** Full name of a service; all services if empty. */
  readonly service: string
  /** Maximum number of services. */
  readonly limit: number
  /** Service name after which the page starts; empty to start with the first service. */
  readonly after: string
}

/** A page of routes with the settings that determine them. */
export interface RoutesPage {
  /** URL of the gateway: scheme, address and port. */
  readonly url: string
  readonly handler: string
  readonly resolver: string
  readonly namespace: string
  readonly routes: readonly RouteMessage[]
  readonly left_out: readonly string[]
  /** Cursor of the next page; absent on the last page. */
  readonly next?: string
}

export interface PluginMessage {
  readonly name: string
  readonly description: string
  /** Setting that enables the plugin. */
  readonly source: string
  /** Configured name, package or file. */
  readonly specifier: string
  readonly hooks: readonly string[]
  /** Options with defaults and masked secrets. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface ExplainRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Whether the client uses HTTPS; if absent, the same as the listener. */
  readonly secure?: boolean
  /** Name of the listener; empty for the main listener. */
  readonly listener: string
  /** IP address. If empty, 127.0.0.1, or none for a Unix socket. */
  readonly client: string
}

/** Result of an explanation. */
export interface Explained {
  readonly stages: readonly {
    readonly plugin: string
    readonly hook: string
    readonly scope: string
    readonly source: string
  }[]
  readonly namespace: string
  readonly account: string
  readonly route?: {
    /** Name of the configured route. */
    readonly name?: string
    readonly service: string
    readonly endpoint: string
    readonly handler: string
    readonly variables: readonly { readonly name: string; readonly value: string }[]
  }
  readonly target: string
  readonly host: string
  readonly handler: string
  readonly rulings: readonly {
    readonly namespace: string
    readonly resource: string
    readonly granted: boolean
    readonly rule: string
  }[]
  readonly nodes: readonly {
    readonly id: string
    readonly address: string
    readonly protocol: string
    readonly draining: boolean
  }[]
  /** Settings by their key in `mx.yaml`. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  readonly endpoints: readonly string[]
  readonly sent_to: string
  readonly answer?: { readonly status: number; readonly id: string; readonly detail: string }
  readonly why: string
  readonly known: readonly string[]
}

const count = (description: string) => Type.Integer({ description })

const Point: TUnsafe<PointMessage> = Type.Unsafe(
  Type.Object({
    time: count('End of the interval, milliseconds since 1970.'),
    seconds: Type.Number({ description: 'Duration: 1, or more while the server was busy.' }),
    requests: count('Completed requests. Streams and WebSockets are counted when they end.'),
    no_reply: count('Requests whose client disconnected before a response.'),
    status_1xx: count('WebSockets.'),
    status_2xx: Type.Integer(),
    status_3xx: Type.Integer(),
    status_4xx: Type.Integer(),
    status_5xx: Type.Integer(),
    aborted: count('Requests whose response was aborted.'),
    in_flight: count('Requests in flight at the end.'),
    bytes_in: count('Bytes of request bodies.'),
    bytes_out: count('Bytes of response bodies.'),
    p50_ms: Type.Optional(
      Type.Number({
        description: 'Percentiles of the last ten points; absent if there were no requests.',
      }),
    ),
    p99_ms: Type.Optional(Type.Number()),
  }),
)

export const Stats: TUnsafe<StatsMessage> = Type.Unsafe(
  Type.Object({ points: Type.Array(Point, { description: 'Oldest first.' }) }),
)

export const ServiceStats: TUnsafe<ServiceStatsMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String({
      description: 'Full name, prefixed with the namespace unless it is mx: acme/shop.',
    }),
    requests_per_second: Type.Number({ description: 'Average over the last minute.' }),
    error_share: Type.Optional(
      Type.Number({
        description: 'Share of 5xx responses, 0 to 1; absent if there were no requests.',
      }),
    ),
    p50_ms: Type.Optional(
      Type.Number({ description: 'Interpolated; absent if there were no requests.' }),
    ),
    p99_ms: Type.Optional(Type.Number()),
  }),
)

export const Request: TUnsafe<RecentRequest> = Type.Unsafe(
  Type.Object({
    time: count('End of the request, milliseconds since 1970.'),
    id: Type.String({ description: 'Request id.' }),
    trace_id: Type.String({ description: 'Empty if not traced.' }),
    method: Type.String(),
    path: Type.String({ description: 'Path without the query.' }),
    status: count('Status; 0 if the client disconnected before a response.'),
    rpc_status: count('Status of gRPC or Connect; -1 if none.'),
    duration_ms: Type.Number(),
    service: Type.String({ description: 'Full name; empty if not found.' }),
    error: Type.String({ description: 'Error of the last node.' }),
  }),
)

const Route: TUnsafe<RouteMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String({ description: 'Full name.' }),
    endpoint: Type.String({
      description: 'Handler.Method; empty if requests are passed through unchanged.',
    }),
    handler: Type.String(),
    methods: Type.Array(Type.String(), { description: 'Any method if empty.' }),
    hosts: Type.Array(Type.String(), { description: 'Any host if empty.' }),
    path: Type.String({ description: 'Template.' }),
    declared: Type.Boolean({
      description: 'Declared by the endpoint; otherwise derived from the name.',
    }),
  }),
)

export const Routes: TUnsafe<RoutesPage> = Type.Unsafe(
  Type.Object({
    url: Type.String({ description: 'URL of the gateway.' }),
    handler: Type.String({ description: 'Handler of the gateway.' }),
    resolver: Type.String({ description: 'Resolver of the gateway.' }),
    namespace: Type.String({ description: 'Prefix of service names; empty if none.' }),
    routes: Type.Array(Route),
    left_out: Type.Array(Type.String(), {
      description: 'Declared routes that are not served, with the reason.',
    }),
    next: Type.Optional(
      Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
    ),
  }),
)

export const Plugin: TUnsafe<PluginMessage> = Type.Unsafe(
  Type.Object({
    name: Type.String(),
    description: Type.String({ description: 'Empty if none.' }),
    source: Type.String({ description: 'Setting that enables it.' }),
    specifier: Type.String({ description: 'Configured name, package or file.' }),
    hooks: Type.Array(Type.String(), { description: 'In order of execution.' }),
    options: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Options with defaults and masked secrets.',
    }),
  }),
)

export const Explanation: TUnsafe<Explained> = Type.Unsafe(
  Type.Object({
    stages: Type.Array(
      Type.Object({
        plugin: Type.String({ description: 'Empty if built in.' }),
        hook: Type.String(),
        scope: Type.String({
          description: 'gateway, service or route; empty if not from the configuration.',
        }),
        source: Type.String({ description: 'Setting or line of mx.yaml; empty if built in.' }),
      }),
      { description: 'Steps that the request passed through, in order.' },
    ),
    namespace: Type.String({ description: 'Prefix of service names; empty if none.' }),
    account: Type.String({ description: 'Account of the caller; empty if anonymous.' }),
    route: Type.Optional(
      Type.Object({
        name: Type.Optional(
          Type.String({ description: 'Name of the configured route; absent if none matched.' }),
        ),
        service: Type.String(),
        endpoint: Type.String(),
        handler: Type.String({ description: 'Handler required by the route; empty if none.' }),
        variables: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
      }),
    ),
    target: Type.String({ description: 'Path and query as forwarded.' }),
    host: Type.String({ description: 'Host as forwarded.' }),
    handler: Type.String({
      description: 'Handler that serves the request; empty if no route was found.',
    }),
    rulings: Type.Array(
      Type.Object({
        namespace: Type.String(),
        resource: Type.String({ description: 'type:name:endpoint' }),
        granted: Type.Boolean(),
        rule: Type.String({ description: 'Id of the deciding rule; empty if none applies.' }),
      }),
    ),
    nodes: Type.Array(
      Type.Object({
        id: Type.String(),
        address: Type.String(),
        protocol: Type.String(),
        draining: Type.Boolean(),
      }),
    ),
    settings: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Settings in force for the service, by key of mx.yaml.',
      }),
    ),
    endpoints: Type.Array(Type.String(), { description: 'Endpoints declared by the service.' }),
    sent_to: Type.String({
      description: 'Id of the selected node, or topic; empty if the gateway itself responds.',
    }),
    answer: Type.Optional(
      Type.Object({
        status: Type.Integer(),
        id: Type.String(),
        detail: Type.String(),
      }),
    ),
    why: Type.String({
      description: 'Reason why the gateway itself responds; empty if it does not.',
    }),
    known: Type.Array(Type.String(), {
      description: 'Existing services if the requested service was not found.',
    }),
  }),
)

export function toPointMessage(point: RequestPoint): PointMessage {
  const { timeMs, seconds, byClass, aborted, inFlight, bytesIn, bytesOut, p50Ms, p99Ms } = point
  const countOf = (first: number): number => byClass[first] ?? 0
  return {
    time: timeMs,
    seconds: round(seconds),
    requests: byClass.reduce((sum, count) => sum + count, 0),
    no_reply: countOf(0),
    status_1xx: countOf(1),
    status_2xx: countOf(2),
    status_3xx: countOf(3),
    status_4xx: countOf(4),
    status_5xx: countOf(5),
    aborted,
    in_flight: inFlight,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
    ...(p50Ms !== undefined && { p50_ms: round(p50Ms) }),
    ...(p99Ms !== undefined && { p99_ms: round(p99Ms) }),
  }
}

export function toServiceStats(rate: ServiceRate): ServiceStatsMessage {
  const { service, seconds, requests, errors, p50Ms, p99Ms } = rate
  return {
    service,
    requests_per_second: seconds > 0 ? round(requests / seconds) : 0,
    ...(requests > 0 && { error_share: round(errors / requests) }),
    ...(p50Ms !== undefined && { p50_ms: round(p50Ms) }),
    ...(p99Ms !== undefined && { p99_ms: round(p99Ms) }),
  }
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}

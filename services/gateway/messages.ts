import type { RecentRequest } from '../../core/metrics/recent-requests.ts'
import type { RequestPoint } from '../../core/metrics/request-history.ts'
import type { ServiceRate } from '../../core/metrics/service-rates.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'

/** A second of the gateway, as callers are told it. */
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

/** Some seconds, the oldest first. */
export interface StatsMessage {
  readonly points: readonly PointMessage[]
}

/** Requests of a service in the last minute. */
export interface ServiceStatsMessage {
  /** Full name. */
  readonly service: string
  readonly requests_per_second: number
  /** Share of 5xx responses, 0 to 1; absent: no requests. */
  readonly error_share?: number
  readonly p50_ms?: number
  readonly p99_ms?: number
}

/** A way from requests to an endpoint. */
export interface RouteMessage {
  readonly service: string
  /** `Handler.Method`; empty: requests go on as they are. */
  readonly endpoint: string
  readonly handler: string
  /** None: any. */
  readonly methods: readonly string[]
  /** None: any. */
  readonly hosts: readonly string[]
  /** Template. */
  readonly path: string
  /** By its endpoint; else it is by name. */
  readonly declared: boolean
}

/** Which routes. */
export interface RoutesRequest {
  /** Full name of a service; empty: all. */
  readonly service: string
  /** Most services. */
  readonly limit: number
  /** Those behind this name; empty: from the first one. */
  readonly after: string
}

/** The routes of a gateway to some services, and what they are made by. */
export interface RoutesPage {
  /** Where the gateway listens: scheme, address and port. */
  readonly url: string
  readonly handler: string
  readonly resolver: string
  readonly namespace: string
  readonly routes: readonly RouteMessage[]
  readonly left_out: readonly string[]
  /** There are more: ask again, after this name. */
  readonly next?: string
}

/** A plugin of the chain. */
export interface PluginMessage {
  readonly name: string
  readonly description: string
  /** Where it was asked for. */
  readonly source: string
  /** What was asked for: a name, a package or a file. */
  readonly specifier: string
  readonly hooks: readonly string[]
  /** Defaults filled in, secrets masked. */
  readonly options: Readonly<Record<string, unknown>>
}

/** What is asked about a request. */
export interface ExplainRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a request would meet. */
export interface Explained {
  readonly stages: readonly { readonly plugin: string; readonly hook: string }[]
  readonly namespace: string
  readonly account: string
  readonly route?: {
    readonly service: string
    readonly endpoint: string
    readonly handler: string
    readonly variables: readonly { readonly name: string; readonly value: string }[]
  }
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
  readonly endpoints: readonly string[]
  readonly sent_to: string
  readonly answer?: { readonly status: number; readonly id: string; readonly detail: string }
  readonly why: string
  readonly known: readonly string[]
}

const count = (description: string) => Type.Integer({ description })

const Point: TUnsafe<PointMessage> = Type.Unsafe(
  Type.Object({
    time: count('Its end, milliseconds since 1970.'),
    seconds: Type.Number({ description: 'How long it was: 1, or more while the server was busy.' }),
    requests: count('That were over in it; streams and WebSockets once they have ended.'),
    no_reply: count('Those whose client left before there was a reply.'),
    status_1xx: count('WebSockets.'),
    status_2xx: Type.Integer(),
    status_3xx: Type.Integer(),
    status_4xx: Type.Integer(),
    status_5xx: Type.Integer(),
    aborted: count('Those whose reply was cut off.'),
    in_flight: count('Not over at its end.'),
    bytes_in: count('Of request bodies.'),
    bytes_out: count('Of the bodies of replies.'),
    p50_ms: Type.Optional(
      Type.Number({
        description: 'Of the last ten points; absent: there was no request to measure.',
      }),
    ),
    p99_ms: Type.Optional(Type.Number()),
  }),
)

export const Stats: TUnsafe<StatsMessage> = Type.Unsafe(
  Type.Object({ points: Type.Array(Point, { description: 'The oldest first.' }) }),
)

export const ServiceStats: TUnsafe<ServiceStatsMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String({ description: 'Full name.' }),
    requests_per_second: Type.Number({ description: 'Average over the last minute.' }),
    error_share: Type.Optional(
      Type.Number({ description: 'Share of 5xx responses, 0 to 1; absent: no requests.' }),
    ),
    p50_ms: Type.Optional(Type.Number({ description: 'Interpolated; absent: no requests.' })),
    p99_ms: Type.Optional(Type.Number()),
  }),
)

export const Request: TUnsafe<RecentRequest> = Type.Unsafe(
  Type.Object({
    time: count('Its end, milliseconds since 1970.'),
    id: Type.String({ description: 'Request id.' }),
    trace_id: Type.String({ description: 'Empty: it was not traced.' }),
    method: Type.String(),
    path: Type.String({ description: 'Without the query.' }),
    status: count('0: the client left before a response.'),
    rpc_status: count('Status of gRPC or Connect; -1: none.'),
    duration_ms: Type.Number(),
    service: Type.String({ description: 'Full name; empty: none was found.' }),
    error: Type.String({ description: 'Why the last node did not respond.' }),
  }),
)

const Route: TUnsafe<RouteMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String({ description: 'Full name.' }),
    endpoint: Type.String({ description: 'Handler.Method; empty: requests go on as they are.' }),
    handler: Type.String(),
    methods: Type.Array(Type.String(), { description: 'None: any.' }),
    hosts: Type.Array(Type.String(), { description: 'None: any.' }),
    path: Type.String({ description: 'Template.' }),
    declared: Type.Boolean({ description: 'By its endpoint; else it is by name.' }),
  }),
)

export const Routes: TUnsafe<RoutesPage> = Type.Unsafe(
  Type.Object({
    url: Type.String({ description: 'Where the gateway listens.' }),
    handler: Type.String({ description: 'Of the gateway.' }),
    resolver: Type.String({ description: 'Of the gateway.' }),
    namespace: Type.String({ description: 'Prefix of service names; empty: none.' }),
    routes: Type.Array(Route),
    left_out: Type.Array(Type.String(), {
      description: 'Declared, and not served: what is wrong.',
    }),
    next: Type.Optional(
      Type.String({ description: 'There are more: ask again, after this name.' }),
    ),
  }),
)

export const Plugin: TUnsafe<PluginMessage> = Type.Unsafe(
  Type.Object({
    name: Type.String(),
    description: Type.String({ description: 'Empty: it says nothing.' }),
    source: Type.String({ description: 'Where it was asked for.' }),
    specifier: Type.String({ description: 'What was asked for: a name, a package or a file.' }),
    hooks: Type.Array(Type.String(), { description: 'In the order they run.' }),
    options: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Defaults filled in, secrets masked.',
    }),
  }),
)

export const Explanation: TUnsafe<Explained> = Type.Unsafe(
  Type.Object({
    stages: Type.Array(
      Type.Object({
        plugin: Type.String({ description: "Empty: the gateway's own." }),
        hook: Type.String(),
      }),
      { description: 'It came through, in order.' },
    ),
    namespace: Type.String({ description: 'Prefix of service names; empty: none.' }),
    account: Type.String({ description: 'Who calls; empty: nobody that is known.' }),
    route: Type.Optional(
      Type.Object({
        service: Type.String(),
        endpoint: Type.String(),
        handler: Type.String({ description: 'Asked for by the route; empty: none is.' }),
        variables: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
      }),
    ),
    handler: Type.String({ description: 'That serves the request; empty: no route was found.' }),
    rulings: Type.Array(
      Type.Object({
        namespace: Type.String(),
        resource: Type.String({ description: 'type:name:endpoint' }),
        granted: Type.Boolean(),
        rule: Type.String({ description: 'Id of the one that decided; empty: none applies.' }),
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
    endpoints: Type.Array(Type.String(), { description: 'That the service declares.' }),
    sent_to: Type.String({
      description: 'Id of the node it would go to, or topic; empty: the gateway answers itself.',
    }),
    answer: Type.Optional(
      Type.Object({
        status: Type.Integer(),
        id: Type.String(),
        detail: Type.String(),
      }),
    ),
    why: Type.String({ description: 'Why the gateway itself answers; empty: it does not.' }),
    known: Type.Array(Type.String(), {
      description: 'Services there are, where its own was not found.',
    }),
  }),
)

/** A second as callers are told it. */
export function toPointMessage(point: RequestPoint): PointMessage {
  const { timeMs, seconds, byClass, aborted, inFlight, bytesIn, bytesOut, p50Ms, p99Ms } = point
  const of = (first: number): number => byClass[first] ?? 0
  return {
    time: timeMs,
    seconds: round(seconds),
    requests: byClass.reduce((sum, count) => sum + count, 0),
    no_reply: of(0),
    status_1xx: of(1),
    status_2xx: of(2),
    status_3xx: of(3),
    status_4xx: of(4),
    status_5xx: of(5),
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

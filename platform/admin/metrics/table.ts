/** A gateway metric in `/metrics` and docs/metrics.md. */
export interface MetricRow {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Aggregation over worker processes. */
  readonly aggregator: 'sum' | 'max' | 'min' | 'first'
}

export type MetricKey =
  | 'duration'
  | 'upstream'
  | 'gateway'
  | 'requestSize'
  | 'responseSize'
  | 'active'
  | 'connections'
  | 'aborted'
  | 'bufferedBytes'
  | 'bufferCuts'
  | 'nodes'
  | 'upstreamConnections'
  | 'upstreamActive'
  | 'retries'
  | 'ejections'
  | 'overflows'
  | 'concurrencyLimit'
  | 'waiting'
  | 'registryAge'
  | 'registryOutage'
  | 'cacheHits'
  | 'cacheMisses'
  | 'cacheEntries'
  | 'brokerDrops'
  | 'certificateEnd'
  | 'build'

/** Labels for the service, the endpoint, and the endpoint's declared path. */
const ROUTE = ['service', 'endpoint', 'http_route']

/**
 * Gateway metrics, in addition to the process metrics of `prom-client`. Names follow the
 * OpenTelemetry semantic conventions for HTTP in Prometheus spelling if a convention exists; all
 * other names start with `mx_`.
 */
export const METRICS: Readonly<Record<MetricKey, MetricRow>> = {
  duration: {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    help: 'Duration of requests until the last response byte, or until the response head for streams',
    labels: ['http_request_method', 'http_response_status_class', ...ROUTE],
    aggregator: 'sum',
  },
  upstream: {
    name: 'mx_upstream_duration_seconds',
    type: 'histogram',
    help: 'Part of the request duration until the response head of a node, including retries',
    labels: ROUTE,
    aggregator: 'sum',
  },
  gateway: {
    name: 'mx_gateway_duration_seconds',
    type: 'histogram',
    help: 'Part of the request duration spent in the gateway; sampled at 1 in 16 from 1,000 requests per second',
    labels: ROUTE,
    aggregator: 'sum',
  },
  requestSize: {
    name: 'http_server_request_body_size_bytes',
    type: 'histogram',
    help: 'Size of request bodies',
    labels: ROUTE,
    aggregator: 'sum',
  },
  responseSize: {
    name: 'http_server_response_body_size_bytes',
    type: 'histogram',
    help: 'Size of response bodies',
    labels: ROUTE,
    aggregator: 'sum',
  },
  active: {
    name: 'http_server_active_requests',
    type: 'gauge',
    help: 'Requests in flight',
    labels: [],
    aggregator: 'sum',
  },
  connections: {
    name: 'mx_client_connections',
    type: 'gauge',
    help: 'Open client connections',
    labels: [],
    aggregator: 'sum',
  },
  aborted: {
    name: 'mx_requests_aborted_total',
    type: 'counter',
    help: 'Requests with an incomplete response: the client disconnected or the node failed',
    labels: [],
    aggregator: 'sum',
  },
  bufferedBytes: {
    name: 'mx_request_buffered_bytes',
    type: 'gauge',
    help: 'Buffered bytes of request bodies and WebSocket messages (max_buffered)',
    labels: [],
    aggregator: 'sum',
  },
  bufferCuts: {
    name: 'mx_request_buffer_overflows_total',
    type: 'counter',
    help: 'Requests and WebSockets ended because the buffer limit was exceeded (max_buffered)',
    labels: [],
    aggregator: 'sum',
  },
  nodes: {
    name: 'mx_upstream_nodes',
    type: 'gauge',
    help: 'Nodes of a service by state: usable, ejected after failures, unhealthy by health checks, open by circuit breaker, draining, or drained by an operator',
    labels: ['service', 'state'],
    aggregator: 'max',
  },
  upstreamConnections: {
    name: 'mx_upstream_connections',
    type: 'gauge',
    help: 'Open HTTP connections to the nodes of a service',
    labels: ['service'],
    aggregator: 'sum',
  },
  upstreamActive: {
    name: 'mx_upstream_active_requests',
    type: 'gauge',
    help: 'Requests and calls in flight to the nodes of a service',
    labels: ['service'],
    aggregator: 'sum',
  },
  retries: {
    name: 'mx_upstream_retries_total',
    type: 'counter',
    help: 'Retried requests and calls',
    labels: ['service'],
    aggregator: 'sum',
  },
  ejections: {
    name: 'mx_upstream_ejections_total',
    type: 'counter',
    help: 'Ejections of nodes',
    labels: ['service'],
    aggregator: 'sum',
  },
  overflows: {
    name: 'mx_upstream_pending_overflow_total',
    type: 'counter',
    help: 'Requests shed by a concurrency limit, or while the event loop was delayed',
    labels: ['service'],
    aggregator: 'sum',
  },
  concurrencyLimit: {
    name: 'mx_upstream_concurrency_limit',
    type: 'gauge',
    help: 'Concurrency limit of a service or route: maximum requests in progress, per account if the limit is per account',
    labels: ['service', 'route'],
    aggregator: 'sum',
  },
  waiting: {
    name: 'mx_upstream_pending_requests',
    type: 'gauge',
    help: 'Requests queued by the concurrency limit of a service or route',
    labels: ['service', 'route'],
    aggregator: 'sum',
  },
  registryAge: {
    name: 'mx_registry_age_seconds',
    type: 'gauge',
    help: 'Age of the cached registry data of a service; 0 while the registry is watched',
    labels: ['service'],
    aggregator: 'max',
  },
  registryOutage: {
    name: 'mx_registry_outage_seconds',
    type: 'gauge',
    help: 'Duration of the current registry outage; 0 if the registry is available',
    labels: [],
    aggregator: 'max',
  },
  cacheHits: {
    name: 'mx_route_cache_hits_total',
    type: 'counter',
    help: 'Requests with a cached route',
    labels: [],
    aggregator: 'sum',
  },
  cacheMisses: {
    name: 'mx_route_cache_misses_total',
    type: 'counter',
    help: 'Requests without a cached route',
    labels: [],
    aggregator: 'sum',
  },
  cacheEntries: {
    name: 'mx_route_cache_entries',
    type: 'gauge',
    help: 'Cached routes and cached misses',
    labels: [],
    aggregator: 'sum',
  },
  brokerDrops: {
    name: 'mx_broker_messages_dropped_total',
    type: 'counter',
    help: 'Messages dropped for slow subscribers, by queue: server, or subscriber if a subscriber reported them',
    labels: ['queue'],
    aggregator: 'sum',
  },
  certificateEnd: {
    name: 'mx_tls_certificate_end_timestamp_seconds',
    type: 'gauge',
    help: 'Expiry of the certificate served for a name, Unix time in seconds; `*` for a certificate without DNS names',
    labels: ['name'],
    aggregator: 'min',
  },
  build: {
    name: 'mx_build_info',
    type: 'gauge',
    help: 'Always 1; labeled with the version',
    labels: ['version'],
    aggregator: 'first',
  },
}

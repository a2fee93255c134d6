/** A metric that a gateway tells: what `/metrics` and docs/metrics.md say of it. */
export interface MetricRow {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** What is told of the values of several worker processes. */
  readonly of: 'sum' | 'max' | 'min' | 'first'
}

/** How the code calls them. */
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
  | 'registryAge'
  | 'registryOutage'
  | 'cacheHits'
  | 'cacheMisses'
  | 'cacheEntries'
  | 'brokerDrops'
  | 'certificateEnd'
  | 'build'

/** Whose requests: service and endpoint, and the path that the endpoint declares. */
const ROUTE = ['service', 'endpoint', 'http_route']

/**
 * Everything a gateway tells, besides what `prom-client` tells of its process. What OpenTelemetry has a name for is called that,
 * spelled as Prometheus does (its semantic conventions for HTTP); the rest begins with `mx_`.
 */
export const METRICS: Readonly<Record<MetricKey, MetricRow>> = {
  duration: {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    help: 'Requests that are over: until the last byte of the reply, or until its head where it comes in pieces',
    labels: ['http_request_method', 'http_response_status_class', ...ROUTE],
    of: 'sum',
  },
  upstream: {
    name: 'mx_upstream_duration_seconds',
    type: 'histogram',
    help: 'The part of that until the head of the reply of a node, retries included',
    labels: ROUTE,
    of: 'sum',
  },
  gateway: {
    name: 'mx_gateway_duration_seconds',
    type: 'histogram',
    help: 'The rest, which is the gateway itself; of one request in 16 where there are 1,000 a second',
    labels: ROUTE,
    of: 'sum',
  },
  requestSize: {
    name: 'http_server_request_body_size_bytes',
    type: 'histogram',
    help: 'Bodies of requests',
    labels: ROUTE,
    of: 'sum',
  },
  responseSize: {
    name: 'http_server_response_body_size_bytes',
    type: 'histogram',
    help: 'Bodies of replies',
    labels: ROUTE,
    of: 'sum',
  },
  active: {
    name: 'http_server_active_requests',
    type: 'gauge',
    help: 'Requests that are not over',
    labels: [],
    of: 'sum',
  },
  connections: {
    name: 'mx_client_connections',
    type: 'gauge',
    help: 'Open connections of clients',
    labels: [],
    of: 'sum',
  },
  aborted: {
    name: 'mx_requests_aborted_total',
    type: 'counter',
    help: 'Requests whose reply was not complete: the client left, or the node failed',
    labels: [],
    of: 'sum',
  },
  bufferedBytes: {
    name: 'mx_request_buffered_bytes',
    type: 'gauge',
    help: 'Request bytes in memory: bodies and WebSocket messages that wait for slow backends or for their end (max_buffered)',
    labels: [],
    of: 'sum',
  },
  bufferCuts: {
    name: 'mx_request_buffer_overflows_total',
    type: 'counter',
    help: 'Requests and WebSockets ended because too many request bytes were buffered (max_buffered)',
    labels: [],
    of: 'sum',
  },
  nodes: {
    name: 'mx_upstream_nodes',
    type: 'gauge',
    help: 'Nodes of a service in use: usable, ejected after failures, or draining',
    labels: ['service', 'state'],
    of: 'max',
  },
  upstreamConnections: {
    name: 'mx_upstream_connections',
    type: 'gauge',
    help: 'Open HTTP connections to its nodes',
    labels: ['service'],
    of: 'sum',
  },
  upstreamActive: {
    name: 'mx_upstream_active_requests',
    type: 'gauge',
    help: 'Requests and calls its nodes have not answered',
    labels: ['service'],
    of: 'sum',
  },
  retries: {
    name: 'mx_upstream_retries_total',
    type: 'counter',
    help: 'Requests and calls that were sent once more',
    labels: ['service'],
    of: 'sum',
  },
  ejections: {
    name: 'mx_upstream_ejections_total',
    type: 'counter',
    help: 'Times a node was ejected',
    labels: ['service'],
    of: 'sum',
  },
  registryAge: {
    name: 'mx_registry_age_seconds',
    type: 'gauge',
    help: 'How old is what the registry told of a service in use; 0 while it tells of changes',
    labels: ['service'],
    of: 'max',
  },
  registryOutage: {
    name: 'mx_registry_outage_seconds',
    type: 'gauge',
    help: 'For how long the registry has not answered; 0: it does',
    labels: [],
    of: 'max',
  },
  cacheHits: {
    name: 'mx_route_cache_hits_total',
    type: 'counter',
    help: 'Requests whose route was known',
    labels: [],
    of: 'sum',
  },
  cacheMisses: {
    name: 'mx_route_cache_misses_total',
    type: 'counter',
    help: 'Requests whose route was worked out',
    labels: [],
    of: 'sum',
  },
  cacheEntries: {
    name: 'mx_route_cache_entries',
    type: 'gauge',
    help: 'Routes that are known, and names that are known to be nowhere',
    labels: [],
    of: 'sum',
  },
  brokerDrops: {
    name: 'mx_broker_messages_dropped_total',
    type: 'counter',
    help: 'Messages dropped for slow subscribers, by the queue: of this server, or of a subscriber that reported it',
    labels: ['queue'],
    of: 'sum',
  },
  certificateEnd: {
    name: 'mx_tls_certificate_end_timestamp_seconds',
    type: 'gauge',
    help: 'When the certificate served for a name ends, seconds since 1970; `*` is one without DNS names',
    labels: ['name'],
    of: 'min',
  },
  build: {
    name: 'mx_build_info',
    type: 'gauge',
    help: 'Always 1; the version is a label',
    labels: ['version'],
    of: 'first',
  },
}

import { parseDuration } from '../../../lib/text/units.ts'
import { count, countOrAuto, DELAY, MAX_TIMER_MS, TIMEOUT } from '../../../lib/values/amount.ts'
import { formatTime } from '../../../lib/values/format-time.ts'
import { list, notAllowed, oneOf, single } from '../../../lib/values/value.ts'
import type { ValueType } from '../../../lib/values/value-type.ts'
import type { ConcurrencyOptions } from '../concurrency/concurrency-options.ts'
import type { BreakerOptions } from '../health/breaker.ts'
import type { HealthOptions } from '../health/health-options.ts'
import type { OutlierOptions } from '../health/outlier-detection.ts'
import type { HedgeOptions } from '../retry/hedge-options.ts'
import type { RetryOptions, RetryReason } from '../retry/retry-options.ts'

/** A single policy value. */
export interface PolicyField<T> extends ValueType<T> {
  /** Key in `mx.yaml`. */
  readonly name: string
  readonly description: string
  readonly default: string
  /** Formats a value. @default a duration for milliseconds, otherwise `String()` */
  format?(value: T): string
}

export type PolicyTable<P> = { readonly [K in keyof P]-?: PolicyField<NonNullable<P[K]>> }

/** Policies with a single value. */
export interface PolicyValues {
  readonly panicThreshold?: number
  readonly slowStartMs?: number
  readonly subset?: number
}

const PERCENT = {
  ...single('percent', 'a percentage from 0% to 100%', readPercent),
  format: (percent: number): string => `${percent}%`,
}

export const VALUE_FIELDS: PolicyTable<PolicyValues> = {
  panicThreshold: {
    ...count(0, 100),
    name: 'panic_threshold',
    description: 'Percentage of usable nodes below which all nodes are used, even failing ones',
    default: '50',
  },
  slowStartMs: {
    ...DELAY,
    name: 'slow_start',
    description: 'Time over which the share of requests of a new or recovered node ramps up',
    default: '0s',
  },
  subset: {
    ...count(0, 100_000),
    name: 'subset',
    description: 'Maximum number of nodes that a gateway process uses; 0 for all',
    default: '0',
  },
}

export const HEALTH_FIELDS: PolicyTable<HealthOptions> = {
  type: {
    ...oneOf(['http', 'tcp', 'grpc', 'mx'] as const),
    name: 'type',
    description:
      'http: a request; tcp: a connection; grpc: grpc.health.v1.Health/Check; mx: the call Debug.Health',
    default: 'http',
  },
  path: {
    ...single('path', 'a path such as /healthz, or the name of a service for grpc', readPath),
    name: 'path',
    description: 'Path and query of the request, or service name for grpc',
    default: '/',
  },
  intervalMs: {
    ...TIMEOUT,
    name: 'interval',
    description: 'Interval between checks of a healthy node, randomly reduced by up to a tenth',
    default: '10s',
  },
  unhealthyIntervalMs: {
    ...TIMEOUT,
    name: 'unhealthy_interval',
    description: 'Interval between checks after a failed check',
    default: '2s',
  },
  timeoutMs: {
    ...TIMEOUT,
    name: 'timeout',
    description: 'Timeout of a check',
    default: '1s',
  },
  passes: {
    ...count(1, 1000),
    name: 'passes',
    description:
      'Number of consecutive successful checks after which an unhealthy node is used again',
    default: '2',
  },
  fails: {
    ...count(1, 1000),
    name: 'fails',
    description: 'Number of consecutive failed checks after which a node is no longer used',
    default: '3',
  },
  expect: {
    ...single('status,...', 'statuses such as 200-399 or 200,204', readStatuses),
    name: 'expect',
    format: (ranges) =>
      ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(','),
    description: 'Statuses that pass a check of type http',
    default: '200-399',
  },
  body: {
    ...single('text', 'text', (text) => text),
    name: 'body',
    description: 'Body of a POST for type http; empty for a GET',
    default: '',
  },
  port: {
    ...count(0, 65_535),
    name: 'port',
    description: 'Port for checks; 0 for the port of the node',
    default: '0',
  },
}

function readPath(text: string, reject: () => RangeError): string {
  if (/^[\x21-\x7e]{0,127}$/.test(text)) return text
  throw reject()
}

function readStatuses(text: string, reject: () => RangeError): HealthOptions['expect'] {
  return text.split(',').map((part) => {
    const [, first = '', last = first] = /^\s*([1-5]\d\d)(?:-([1-5]\d\d))?\s*$/.exec(part) ?? []
    if (first === '' || Number(first) > Number(last)) throw reject()
    return [Number(first), Number(last)] as const
  })
}

export const OUTLIER_FIELDS: PolicyTable<OutlierOptions> = {
  consecutive5xx: {
    ...count(0, 10_000),
    name: 'consecutive_5xx',
    description: 'Number of consecutive 5xx responses that ejects a node; 0 to disable',
    default: '5',
  },
  consecutiveGatewayErrors: {
    ...count(0, 10_000),
    name: 'consecutive_gateway_errors',
    description:
      'Number of consecutive 502 to 504, incomplete, malformed or late responses that ejects a node; 0 to disable',
    default: '3',
  },
  failurePercentage: {
    ...count(0, 100),
    name: 'failure_percentage',
    description: 'Percentage of failures in an interval that ejects a node; 0 to disable',
    default: '85',
  },
  latencyFactor: {
    ...count(0, 1000),
    name: 'latency_factor',
    description:
      'Multiple of the median of all nodes, at least 100 ms, at which the 95th percentile of a node in an interval ejects it; 0 to disable',
    default: '4',
  },
  intervalMs: {
    ...TIMEOUT,
    name: 'interval',
    description: 'Interval at which failures and latencies of nodes are compared',
    default: '10s',
  },
  baseEjectionMs: {
    ...TIMEOUT,
    name: 'base_ejection_time',
    description: 'Duration of the first ejection; doubled after each failed trial, up to 5m',
    default: '30s',
  },
  maxEjectionPercent: {
    ...count(0, 100),
    name: 'max_ejection_percent',
    description: 'Maximum percentage of nodes that may be ejected',
    default: '50',
  },
  scope: {
    ...oneOf(['route', 'node'] as const),
    name: 'scope',
    description:
      'route: a failure counts only if other nodes serve the route, and a node with several routes is ejected only after two routes fail; node: all failures count',
    default: 'route',
  },
}

export const BREAKER_FIELDS: PolicyTable<BreakerOptions> = {
  errorPercent: {
    ...PERCENT,
    name: 'error_rate',
    description: 'Percentage of failed requests in a window that opens the circuit breaker',
    default: '50%',
  },
  minRequests: {
    ...count(1, 1_000_000),
    name: 'min_requests',
    description: 'Minimum number of requests in a window to evaluate the percentage',
    default: '20',
  },
  windowMs: {
    ...TIMEOUT,
    name: 'window',
    description: 'Window over which requests are counted',
    default: '10s',
  },
  openMs: {
    ...TIMEOUT,
    name: 'open',
    description: 'Time that the circuit breaker stays open',
    default: '5s',
  },
  halfOpen: {
    ...count(1, 1_000_000),
    name: 'half_open',
    description:
      'Number of trial requests after `open`; their results close or reopen the circuit breaker',
    default: '10',
  },
}

export const CONCURRENCY_FIELDS: PolicyTable<ConcurrencyOptions> = {
  limit: {
    ...countOrAuto(1, 1_000_000),
    name: 'limit',
    description: 'Maximum concurrent requests; auto adjusts it by their durations',
    default: 'auto',
  },
  queue: {
    ...count(0, 100_000),
    name: 'queue',
    description: 'Maximum number of queued requests; 0 to disable the queue',
    default: '50',
  },
  queueTimeoutMs: {
    ...DELAY,
    name: 'queue_timeout',
    description: 'Maximum time in the queue; then 503',
    default: '100ms',
  },
  per: {
    ...oneOf(['service', 'node', 'account'] as const),
    name: 'per',
    description:
      'Scope of the limit: the service or route, each node, or each account (each client network for anonymous callers)',
    default: 'service',
  },
}

export const HEDGE_FIELDS: PolicyTable<HedgeOptions> = {
  after: {
    ...single('duration or p95', 'p95, or a duration from 1ms to 24d', (text, reject) =>
      text.trim() === 'p95' ? 'p95' : readPositiveMs(text, reject),
    ),
    name: 'after',
    description:
      'Time without a response before the request is sent to another node as well; p95: the 95th percentile of the service',
    default: 'p95',
    format: (after) => (after === 'p95' ? after : formatTime(after)),
  },
  max: {
    ...count(0, 5),
    name: 'max',
    description: 'Maximum additional nodes per request',
    default: '1',
  },
}

function readPositiveMs(text: string, reject: () => RangeError): number {
  const ms = parseDuration(text)
  if (!(ms >= 1 && ms <= MAX_TIMER_MS)) throw reject()
  return ms
}

const REASONS = 'connect, reset, or statuses such as 503'

export const RETRY_FIELDS: PolicyTable<RetryOptions> = {
  attempts: {
    ...count(1, 10),
    name: 'attempts',
    description: 'Maximum number of attempts, including the first; 1 to disable retries',
    default: '2',
  },
  on: {
    ...list('reason,...', REASONS, (texts) => new Set(texts.map(readReason))),
    name: 'on',
    description: 'Failures to retry',
    default: 'connect, reset, 502, 503, 504',
    format: (reasons) => [...reasons].join(','),
  },
  methods: {
    ...oneOf(['safe', 'idempotent'] as const),
    name: 'methods',
    description:
      'Methods that may be retried. safe: GET, HEAD, QUERY; idempotent: also PUT, DELETE, OPTIONS and TRACE',
    default: 'safe',
  },
  perTryTimeoutMs: {
    ...DELAY,
    name: 'per_try_timeout',
    description: 'Response timeout of each attempt; 0s for the response timeout of the service',
    default: '0s',
  },
  backoffBaseMs: {
    ...DELAY,
    name: 'backoff.base',
    description:
      'Pause before the first retry, randomly reduced by up to half; doubled for each further retry',
    default: '25ms',
  },
  backoffMaxMs: {
    ...DELAY,
    name: 'backoff.max',
    description: 'Maximum pause; a response with a longer Retry-After is not retried',
    default: '250ms',
  },
  budgetPercent: {
    ...PERCENT,
    name: 'budget',
    description: 'Maximum number of retries, as a percentage of the requests in the last 10 s',
    default: '20%',
  },
  minConcurrency: {
    ...count(0, 100_000),
    name: 'min_concurrency',
    description:
      'Number of concurrent retries allowed while there are fewer than ten requests per second',
    default: '3',
  },
}

function readReason(text: string): RetryReason {
  const word = text.trim()
  if (word === 'connect' || word === 'reset') return word
  if (/^[45]\d\d$/.test(word)) return Number(word)
  throw notAllowed(REASONS, text)
}

/** Reads a percentage, with or without the percent sign. */
function readPercent(text: string, reject: () => RangeError): number {
  const [, digits] = /^\s*(\d{1,3})\s*%?\s*$/.exec(text) ?? []
  const percent = Number(digits ?? Number.NaN)
  if (!(percent <= 100)) throw reject()
  return percent
}

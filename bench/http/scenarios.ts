import { readFileLimit } from '../../platform/process/file-limit.ts'
import { STREAMS } from './load/h2load.ts'
import type { RequestBody, Scenario } from './scenario.ts'
import {
  LARGE_JSON,
  NAME_PROTOBUF,
  SERVICE,
  SLOW_MS,
  TICK_MS,
  toGrpcMessage,
} from './servers/documents.ts'

/**
 * Number of concurrent calls in `rpc-slow`. A proxy may need two open files for each, one client and one backend
 * connection.
 */
const SLOW_CALLS: number = Math.min(10_000, Math.floor((readFileLimit() - 200) / 2))

/** Number of concurrent streams in `rpc-ticks`. */
const TICK_STREAMS = 500

/** Number of HTTP/2 connections, chosen for the same number of concurrent requests as in other scenarios. */
const HTTP2_CONNECTIONS = 64 / STREAMS

const GET_SMALL = {
  path: '/bench/hello',
  method: 'GET',
  tls: false,
  pipeline: 1,
  accessLog: false,
  handler: 'proxy',
  backend: 'direct',
} as const

/** Enough for any benchmark, so that no request is rejected. */
const RATE_LIMIT = 'rate-limit: { rules: [{ name: client, limit: 1000000000, window: 1s }] }'

/** A typical chain of a public gateway. */
const POLICIES: readonly string[] = [
  'request-id',
  'proxy-status',
  'hosts: { allow: [example.com] }',
  'ip-allow: { allow: [loopback, 10.0.0.0/8] }',
  'origins: { allow: ["https://app.example.com"] }',
  'cors: { origins: ["https://app.example.com"] }',
  'namespace',
  'forwarded',
  'body-limit: { limit: 1mb }',
  RATE_LIMIT,
  'headers: { request: { set: { x-gateway: mx } }, reply: { remove: [server] } }',
  'compress',
]

const CALL = {
  ...GET_SMALL,
  path: `/${SERVICE}/call?name=John`,
  readyPath: `/${SERVICE}/call?name=John`,
  handler: 'rpc',
  rivals: ['nginx', 'mx'],
} as const

function json(text: string): RequestBody {
  return { type: 'application/json', bytes: text.length, create: () => Buffer.from(text) }
}

/** All scenarios, in order of execution. */
export const SCENARIOS: readonly Scenario[] = [
  {
    ...GET_SMALL,
    name: 'proxy',
    title: 'GET, 62 bytes of JSON, keep-alive backend connections',
    goal: 1,
  },
  {
    ...GET_SMALL,
    name: 'proxy-pipelined',
    title: 'GET, 62 bytes of JSON, requests pipelined to the backend (mx only)',
    pipeline: 16,
    rivals: ['nginx', 'mx', 'uws-floor'],
    goal: 0.9,
  },
  {
    ...GET_SMALL,
    name: 'post',
    title: 'POST, 256 bytes of JSON in, 62 out',
    method: 'POST',
    body: json(JSON.stringify({ name: 'x'.repeat(245) })),
    goal: 1.2,
  },
  ...[1, 10, 1000, 100_000].map(
    (routes): Scenario => ({
      ...GET_SMALL,
      name: `routes-${routes}`,
      title: `GET, 62 bytes of JSON, ${routes.toLocaleString('en')} configured routes`,
      rivals: ['nginx', 'mx'],
      routes,
    }),
  ),
  {
    ...GET_SMALL,
    name: 'routes-1000-conditions',
    title:
      'GET, 62 bytes of JSON, 1,000 configured routes with conditions on headers, query and client',
    rivals: ['nginx', 'mx'],
    routes: 1000,
    hasConditions: true,
  },
  {
    ...GET_SMALL,
    name: 'rate-limit',
    title: 'GET, 62 bytes of JSON, a rate limit by client address',
    plugins: ['request-id', 'namespace', 'forwarded', RATE_LIMIT],
    rivals: ['nginx', 'mx'],
  },
  {
    ...GET_SMALL,
    name: 'policies',
    title: 'GET, 62 bytes of JSON, twelve plugins of mx, nginx without policies',
    plugins: POLICIES,
    rivals: ['nginx', 'mx'],
    goal: 1.35,
  },
  {
    ...GET_SMALL,
    name: 'compress',
    title: 'GET, 10 KiB of JSON, compressed with gzip at level 4',
    path: '/bench/large',
    plugins: ['request-id', 'namespace', 'forwarded', 'compress: { encodings: [gzip] }'],
    gzip: true,
    rivals: ['nginx', 'mx'],
  },
  {
    ...GET_SMALL,
    name: 'cache-hit',
    title: 'GET, 62 bytes of JSON from the cache',
    cache: true,
    rivals: ['nginx', 'mx'],
    goal: 0.6,
  },
  { ...GET_SMALL, name: 'reply-64k', title: 'GET, 64 KiB response', path: '/bench/64k' },
  { ...GET_SMALL, name: 'reply-1m', title: 'GET, 1 MiB response, streamed', path: '/bench/1m' },
  { ...GET_SMALL, name: 'tls', title: 'GET, 62 bytes of JSON, TLS in front', tls: true },
  {
    ...GET_SMALL,
    name: 'http2',
    title: `GET, 62 bytes of JSON, HTTP/2 over TLS in front, ${STREAMS} concurrent requests per connection`,
    tls: true,
    http2: true,
    connections: HTTP2_CONNECTIONS,
    rivals: ['nginx', 'mx'],
  },
  {
    ...GET_SMALL,
    name: 'grpc',
    title: `gRPC, 6 bytes in, 23 out, ${STREAMS} concurrent calls per connection, TLS in front`,
    path: '/bench.Greeter/Hello',
    method: 'POST',
    body: {
      type: 'application/grpc',
      bytes: NAME_PROTOBUF.length + 5,
      create: () => toGrpcMessage(NAME_PROTOBUF),
    },
    tls: true,
    http2: true,
    backend: 'grpc',
    connections: HTTP2_CONNECTIONS,
    rivals: ['nginx', 'mx'],
  },
  {
    ...GET_SMALL,
    name: 'access-log',
    title: 'GET, 62 bytes of JSON, every request logged to a file',
    accessLog: true,
  },
  { ...CALL, name: 'rpc', title: 'Call by GET, 62 bytes of JSON', goal: 0.8 },
  {
    ...CALL,
    name: 'rpc-post',
    title: 'Call by POST, 15 bytes of JSON in, 62 out',
    path: `/${SERVICE}/call`,
    method: 'POST',
    body: json('{"name":"John"}'),
  },
  {
    ...CALL,
    name: 'rpc-10k',
    title: 'Call by GET, 10 KiB of JSON out',
    path: `/${SERVICE}/large`,
  },
  {
    ...CALL,
    name: 'rpc-10k-post',
    title: 'Call by POST, 10 KiB of JSON in, 62 bytes out',
    path: `/${SERVICE}/store`,
    method: 'POST',
    body: json(LARGE_JSON),
  },
  {
    ...CALL,
    name: 'rpc-protobuf',
    title: 'Call by POST, 6 bytes of protobuf in, 23 out',
    path: `/${SERVICE}/protobuf`,
    method: 'POST',
    body: {
      type: 'application/protobuf',
      bytes: NAME_PROTOBUF.length,
      create: () => NAME_PROTOBUF,
    },
  },
  {
    ...CALL,
    name: 'rpc-slow',
    title: `${SLOW_CALLS} concurrent calls, response time ${SLOW_MS} ms`,
    path: `/${SERVICE}/slow`,
    backend: 'server',
    connections: SLOW_CALLS,
    // Long enough for several responses per connection.
    minSeconds: 10,
  },
  {
    ...CALL,
    name: 'rpc-stream',
    title: 'Streams of 100 messages, as JSON lines',
    path: `/${SERVICE}/stream?count=100`,
    backend: 'server',
  },
  {
    ...CALL,
    name: 'rpc-events',
    title: 'Streams of 100 messages, as server-sent events',
    path: `/${SERVICE}/stream?count=100`,
    accept: 'text/event-stream',
    backend: 'server',
  },
  {
    ...CALL,
    name: 'rpc-ticks',
    title: `${TICK_STREAMS} concurrent streams of 100 messages, one every ${TICK_MS} ms, as JSON lines`,
    path: `/${SERVICE}/ticks?count=100`,
    backend: 'server',
    connections: TICK_STREAMS,
    minSeconds: 10,
  },
]

/** @throws {Error} for an unknown name. */
export function findScenario(name: string): Scenario {
  const scenario = SCENARIOS.find((each) => each.name === name)
  if (scenario === undefined) throw new Error(`unknown scenario ${name}`)
  return scenario
}

import type { SpanAttributes } from '../contracts/tracer.ts'
import type { Exchange } from '../exchange.ts'
import type { UpstreamNode } from '../upstream/node-health.ts'

/** Methods spans are named by; others are whatever clients think of. */
const METHODS: ReadonlySet<string> = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'QUERY',
  'TRACE',
])
const PATH_MAX_CHARS = 2048
const HOST = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/

/** What a server span says of its request (OpenTelemetry: HTTP spans). Never the query: it may hold tokens. */
export function describeRequest(x: Exchange): SpanAttributes {
  const [, ip, name, port] = HOST.exec(x.host) ?? []
  return {
    ...describeMethod(x),
    'url.path': x.path.slice(0, PATH_MAX_CHARS),
    'url.scheme': x.secure ? 'https' : 'http',
    'server.address': ip ?? name,
    'server.port': port === undefined ? undefined : Number(port),
    'client.address': x.clientAddress || undefined,
    'user_agent.original': x.headers.get('user-agent')?.slice(0, 1024),
  }
}

/** What it says of the reply and of where the request went, and the name it has by now. */
export function describeReply(x: Exchange): { name: string; attributes: SpanAttributes } {
  const { route, upstream, status } = x
  const template = findTemplate(x)
  const method = nameMethod(x)
  // Of a service nobody knows the name is whatever a client asked for.
  const isKnown = route !== undefined && upstream !== undefined
  const target = template ?? (isKnown ? joinTarget(route.service, route.endpoint) : '')
  return {
    name: target === '' ? method : `${method} ${target}`,
    attributes: {
      'http.route': template,
      'http.response.status_code': status === 0 ? undefined : status,
      'rpc.grpc.status_code': x.rpcStatus < 0 ? undefined : x.rpcStatus,
      'http.request.body.size': x.bytesIn || undefined,
      'http.response.body.size': x.bytesOut || undefined,
      'mx.service': route?.service,
      'mx.endpoint': route?.endpoint || undefined,
      'mx.request_id': x.id || undefined,
    },
  }
}

/** What a client span says of the request a node is sent. Never the query. */
export function describeAttempt(x: Exchange, { secure, host, port }: UpstreamNode): SpanAttributes {
  const origin = `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { ...describeMethod(x), 'url.full': origin + x.path.slice(0, PATH_MAX_CHARS) }
}

/** The method, as spans are named by it. */
export function nameMethod({ method }: Exchange): string {
  return METHODS.has(method) ? method : 'HTTP'
}

export function describeNode({ id, host, port }: UpstreamNode): SpanAttributes {
  return { 'server.address': host, 'server.port': port, 'mx.node': id }
}

function describeMethod({ method }: Exchange): SpanAttributes {
  return METHODS.has(method)
    ? { 'http.request.method': method }
    : {
        'http.request.method': '_OTHER',
        'http.request.method_original': method.slice(0, 100),
      }
}

/** Of an endpoint that declares one path, not several or an expression. */
function findTemplate({ route, upstream }: Exchange): string | undefined {
  const path = upstream?.endpoints.get(route?.endpoint ?? '')?.metadata['path']
  return path?.startsWith('/') && !path.includes(',') ? path : undefined
}

function joinTarget(service: string, endpoint: string): string {
  return endpoint === '' ? service : `${service}/${endpoint}`
}

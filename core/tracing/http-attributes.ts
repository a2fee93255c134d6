import type { SpanAttributes } from '../contracts/tracer.ts'
import type { Exchange } from '../exchange.ts'
import type { UpstreamNode } from '../upstream/node/upstream-node.ts'

/** Methods that appear in span names; others would have high cardinality. */
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

/**
 * Returns the request attributes of a server span (OpenTelemetry: HTTP spans). Never includes the query, which may
 * contain tokens.
 */
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

/** Returns the name, response attributes and routing attributes of a server span. */
export function describeReply(x: Exchange): { name: string; attributes: SpanAttributes } {
  const { route, upstream, status } = x
  const template = findTemplate(x)
  const method = nameMethod(x)
  // Clients can choose the names of unknown services.
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

/** Returns the request attributes of a client span. Never includes the query. */
export function describeAttempt(x: Exchange, { secure, host, port }: UpstreamNode): SpanAttributes {
  const origin = `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { ...describeMethod(x), 'url.full': origin + x.path.slice(0, PATH_MAX_CHARS) }
}

/** Returns the method for span names. */
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

/** Returns the path template of an endpoint that declares exactly one path, and no regular expression. */
function findTemplate({ route, upstream }: Exchange): string | undefined {
  const path = upstream?.endpoints.get(route?.endpoint ?? '')?.metadata['path']
  return path?.startsWith('/') && !path.includes(',') ? path : undefined
}

function joinTarget(service: string, endpoint: string): string {
  return endpoint === '' ? service : `${service}/${endpoint}`
}

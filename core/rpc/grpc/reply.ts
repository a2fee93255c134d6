import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import { GatewayError } from '../../errors.ts'
import { appendParsed, HeaderList } from '../../http/headers.ts'
import { RESERVED_HEADERS } from '../../http/hop-by-hop.ts'
import type { Wire } from './wire-format.ts'

const GRPC = /^application\/grpc(?:[+;]|$)/i
/**
 * HTTP statuses of non-gRPC responses that are forwarded to clients (gRPC, HTTP to gRPC Status Code Mapping); all
 * others become 502.
 */
const FORWARDED_STATUS: ReadonlyMap<number, number> = new Map([
  [401, 401],
  [403, 403],
  [404, 501],
  [429, 503],
  [503, 503],
  [504, 503],
])
/** Trailers, which are in the head of a response without a body. */
const TRAILER = /^grpc-(?:status|message|status-details-bin)$/

/** Headers as parsed by node:http2. */
export type Block = IncomingHttpHeaders & IncomingHttpStatusHeader

/** Returns the error for a response that is not gRPC, or undefined for a gRPC response. */
export function rejectHead(headers: Block, service: string): GatewayError | undefined {
  const status = Number(headers[':status'])
  const type = headers['content-type']
  if (status === 200 && type !== undefined && GRPC.test(type)) return undefined
  const detail = 'bad gateway: the backend response is not gRPC'
  const cause = `status ${status}, content type ${JSON.stringify(type)}`
  return new GatewayError(service, FORWARDED_STATUS.get(status) ?? 502, detail, { cause })
}

/** Builds the response headers for the client. */
export function toReplyHead(headers: Block, wire: Wire): HeaderList {
  const list = toFields(headers)
  list.delete('content-type')
  if (wire.protocol === 'connect') {
    const encoding = list.get('grpc-encoding')
    list.delete('grpc-encoding')
    list.delete('grpc-accept-encoding')
    if (encoding !== undefined) appendParsed(list, 'connect-content-encoding', encoding)
  }
  appendParsed(list, 'content-type', wire.contentType)
  return list
}

/** Moves the trailers out of the head of a response without a body. */
export function readTrailers(head: HeaderList): HeaderList {
  const trailers = new HeaderList()
  const { flat } = head
  for (let i = 0; i < flat.length; i += 2)
    if (TRAILER.test(flat[i]!)) appendParsed(trailers, flat[i]!, flat[i + 1]!)
  for (let i = 0; i < trailers.flat.length; i += 2) head.delete(trailers.flat[i]!)
  return trailers
}

/** Returns the end-to-end headers of a parsed block. */
export function toFields(headers: Block): HeaderList {
  const list = new HeaderList()
  for (const name of Object.keys(headers)) {
    if (name.startsWith(':') || RESERVED_HEADERS.has(name)) continue
    const value = headers[name]!
    if (typeof value === 'string') appendParsed(list, name, value)
    else for (const item of value) appendParsed(list, name, item)
  }
  return list
}

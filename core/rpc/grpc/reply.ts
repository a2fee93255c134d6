import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import { GatewayError } from '../../errors.ts'
import { appendParsed, HeaderList } from '../../http/headers.ts'
import { NOT_OF_SERVICES } from '../../http/hop-by-hop.ts'
import type { Wire } from './wire-format.ts'

const GRPC = /^application\/grpc(?:[+;]|$)/i
/**
 * HTTP statuses of a non-gRPC response that are passed on to clients (gRPC, HTTP to gRPC Status Code Mapping); others
 * become 502.
 */
const PASSED_STATUS: ReadonlyMap<number, number> = new Map([
  [401, 401],
  [403, 403],
  [404, 501],
  [429, 503],
  [503, 503],
  [504, 503],
])
/** Trailers; in the head of a response without body. */
const OF_THE_END = /^grpc-(?:status|message|status-details-bin)$/

/** Headers as parsed by node:http2. */
export type Block = IncomingHttpHeaders & IncomingHttpStatusHeader

/** Error for a response that is not gRPC; undefined for a gRPC response. */
export function rejectHead(headers: Block, service: string): GatewayError | undefined {
  const status = Number(headers[':status'])
  const type = headers['content-type']
  if (status === 200 && type !== undefined && GRPC.test(type)) return undefined
  const detail = 'bad gateway: the response of the backend is not gRPC'
  const cause = `status ${status}, content type ${JSON.stringify(type)}`
  return new GatewayError(service, PASSED_STATUS.get(status) ?? 502, detail, { cause })
}

/** Response headers for the client. */
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

/** Moves the trailers out of the head of a response without body. */
export function readTrailers(head: HeaderList): HeaderList {
  const trailers = new HeaderList()
  const { flat } = head
  for (let i = 0; i < flat.length; i += 2)
    if (OF_THE_END.test(flat[i]!)) appendParsed(trailers, flat[i]!, flat[i + 1]!)
  for (let i = 0; i < trailers.flat.length; i += 2) head.delete(trailers.flat[i]!)
  return trailers
}

/** End-to-end headers of a parsed block. */
export function toFields(headers: Block): HeaderList {
  const list = new HeaderList()
  for (const name of Object.keys(headers)) {
    if (name.startsWith(':') || NOT_OF_SERVICES.has(name)) continue
    const value = headers[name]!
    if (typeof value === 'string') appendParsed(list, name, value)
    else for (const one of value) appendParsed(list, name, one)
  }
  return list
}

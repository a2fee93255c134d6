import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import { GatewayError } from '../../errors.ts'
import { appendParsed, HeaderList } from '../../http/headers.ts'
import { NOT_OF_SERVICES } from '../../http/hop-by-hop.ts'
import type { Wire } from './wire-format.ts'

const GRPC = /^application\/grpc(?:[+;]|$)/i
/** Of replies that are not gRPC, those a client may be told: the others say nothing of the call (gRPC, HTTP to gRPC Status Code Mapping). */
const TOLD: ReadonlyMap<number, number> = new Map([
  [401, 401],
  [403, 403],
  [404, 501],
  [429, 503],
  [503, 503],
  [504, 503],
])
/** Fields that end a call, and stand in the head of a reply without body. */
const OF_THE_END = /^grpc-(?:status|message|status-details-bin)$/

/** A block of fields as the library has parsed it. */
export type Block = IncomingHttpHeaders & IncomingHttpStatusHeader

/** Why a head is none of gRPC, as an error for the client; undefined: it is. */
export function rejectHead(headers: Block, service: string): GatewayError | undefined {
  const status = Number(headers[':status'])
  const type = headers['content-type']
  if (status === 200 && type !== undefined && GRPC.test(type)) return undefined
  const detail = 'bad gateway: the reply of the backend is not gRPC'
  const cause = `status ${status}, content type ${JSON.stringify(type)}`
  return new GatewayError(service, TOLD.get(status) ?? 502, detail, { cause })
}

/** Fields of a reply as the client gets them. */
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

/** Takes the fields that end a call out of a head: those of a reply without body. */
export function readTrailers(head: HeaderList): HeaderList {
  const trailers = new HeaderList()
  const { flat } = head
  for (let i = 0; i < flat.length; i += 2)
    if (OF_THE_END.test(flat[i]!)) appendParsed(trailers, flat[i]!, flat[i + 1]!)
  for (let i = 0; i < trailers.flat.length; i += 2) head.delete(trailers.flat[i]!)
  return trailers
}

/** The end-to-end fields of a block that the library has parsed. */
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

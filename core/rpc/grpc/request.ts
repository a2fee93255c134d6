import type { OutgoingHttpHeaders } from 'node:http2'
import type { Exchange } from '../../exchange.ts'
import type { Wire } from './wire-format.ts'

/** Request headers that are set by the gateway or belong to the client's protocol. */
const GATEWAY_HEADERS: ReadonlySet<string> = new Set([
  'connect-accept-encoding',
  'connect-content-encoding',
  'connect-protocol-version',
  'connect-timeout-ms',
  'content-type',
  'grpc-timeout',
  'host',
  'x-grpc-web',
])

/** Builds the request headers of a call to a backend, without scheme and timeout (gRPC over HTTP/2, Requests). */
export function toGrpcFields(x: Exchange, wire: Wire): OutgoingHttpHeaders {
  const { headers } = x
  const codec = wire.contentType.slice(wire.contentType.lastIndexOf('+') + 1)
  const fields: OutgoingHttpHeaders = Object.create(null)
  fields[':method'] = 'POST'
  fields[':authority'] = headers.get('host') ?? x.host
  fields[':path'] = x.target
  fields['content-type'] =
    codec === wire.contentType ? 'application/grpc' : `application/grpc+${codec}`
  fields['te'] = 'trailers'
  const { flat } = headers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (!GATEWAY_HEADERS.has(name)) addField(fields, name, flat[i + 1]!)
  }
  // The same encodings under different header names.
  const encoding = headers.get('connect-content-encoding')
  if (encoding !== undefined) fields['grpc-encoding'] = encoding
  const accepted = headers.get('connect-accept-encoding')
  if (accepted !== undefined) fields['grpc-accept-encoding'] = accepted
  return fields
}

function addField(fields: OutgoingHttpHeaders, name: string, value: string): void {
  const before = fields[name]
  fields[name] = before === undefined ? value : [...[before as string].flat(), value]
}

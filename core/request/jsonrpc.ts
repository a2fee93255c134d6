import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { badRequest } from './bad-request.ts'
import { parseJson } from './json/json.ts'
import { splitList, splitObject } from './json/json-text.ts'
import type { RequestType } from './media-type.ts'
import { decodeUtf8 } from './utf8.ts'

/** Bytes of the lengths in an envelope of proto-rpc, big-endian. */
const LENGTH_BYTES = 4

/**
 * The request within a body, out of the envelope that its content type stands for; else the body itself.
 *
 * | content type | envelope |
 * |---|---|
 * | `application/json-rpc` | `{"id": 1, "method": "Greeter.Hello", "params": [{…}]}`: the request is the only one of `params`, or `params` where that is an object (JSON-RPC 2.0) |
 * | `application/proto-rpc` | two messages, each behind its length in four bytes: about the call, and the request |
 * | `application/octet-stream` | as `application/proto-rpc`, or none |
 * | `application/grpc*` | none: gRPC's own (a byte and a length) belongs to HTTP/2, and is 415 |
 *
 * What envelopes say of the call itself is not read: the path of the request says which endpoint it is.
 *
 * @param body not empty.
 * @throws {GatewayError} 400 when there is no such envelope, 415 for that of gRPC.
 */
export function openEnvelope(
  { type }: RequestType,
  body: Uint8Array,
  id: string = GATEWAY_ID,
): Uint8Array {
  switch (type) {
    case 'application/json':
      return body
    case 'application/json-rpc':
      return openJsonRpc(body, id)
    case 'application/proto-rpc':
      return openProtoRpc(body, id)
    case 'application/octet-stream':
      // No message begins with a zero: there is no field of that number.
      return body[0] === 0 ? openProtoRpc(body, id) : body
    case 'application/grpc':
    case 'application/grpc+proto':
    case 'application/grpc+json':
      // Nor do protobuf and JSON begin with a byte that says whether a message is compressed.
      if (body[0]! <= 1) throw refuseGrpc(id)
      return body
    default:
      return body
  }
}

function openJsonRpc(body: Uint8Array, id: string): Uint8Array {
  const text = decodeUtf8(body, 'request body', id)
  parseJson(text, 'request body', id)
  const params = splitObject(text)?.get('params')
  // As it is written, to the digit.
  const items = params === undefined ? undefined : splitList(params)
  const request = items === undefined ? params : items[0]
  if (
    request === undefined ||
    (items !== undefined && items.length > 1) ||
    !request.startsWith('{')
  ) {
    const wanted = 'must be {"id": …, "method": …, "params": [{…}]}, with one object in params'
    throw badRequest(id, `request body of application/json-rpc ${wanted}`)
  }
  return Buffer.from(request)
}

function openProtoRpc(body: Uint8Array, id: string): Uint8Array {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const start = endOf(view, 0) + LENGTH_BYTES
  if (start > body.length || endOf(view, start - LENGTH_BYTES) !== body.length) {
    const wanted = 'must be two messages, each behind its length in four bytes, big-endian'
    throw badRequest(id, `request body of application/proto-rpc ${wanted}`)
  }
  return body.subarray(start)
}

/** Position behind the message whose length is at `at`. */
function endOf(view: DataView, at: number): number {
  if (at + LENGTH_BYTES > view.byteLength) return Number.POSITIVE_INFINITY
  return at + LENGTH_BYTES + view.getUint32(at)
}

function refuseGrpc(id: string): GatewayError {
  const accept = 'application/json, application/protobuf'
  const detail = `frames of gRPC need HTTP/2 (--listener=node), or application/grpc-web; else send the message itself, as ${accept.replace(',', ' or')}`
  return new GatewayError(id, 415, detail, { headers: ['accept', accept] })
}

import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { badRequest } from './bad-request.ts'
import { parseJson } from './json/json.ts'
import { splitJsonList, splitObject } from './json/json-text.ts'
import type { RequestType } from './media-type.ts'
import { decodeUtf8 } from './utf8.ts'

/** Size of the big-endian length prefix in proto-rpc. */
const LENGTH_BYTES = 4

/**
 * Extracts the request from the envelope of its content type. Other bodies are returned unchanged.
 *
 * | content type | envelope |
 * |---|---|
 * | `application/json-rpc` | `{"id": 1, "method": "Greeter.Hello", "params": [{…}]}`: the request is the only item of `params`, or `params` if it is an object (JSON-RPC 2.0) |
 * | `application/proto-rpc` | two messages, call header and request, each preceded by its length in four bytes |
 * | `application/octet-stream` | same as `application/proto-rpc`, or none |
 * | `application/grpc*` | none: gRPC frames (a byte and a length) belong to HTTP/2 and are rejected with 415 |
 *
 * Other parts of the envelope are ignored, since the request path selects the endpoint.
 *
 * @param body not empty.
 * @throws {GatewayError} 400 for a missing or malformed envelope, 415 for gRPC frames.
 */
export function unwrapEnvelope(
  { type }: RequestType,
  body: Uint8Array,
  id: string = GATEWAY_ID,
): Uint8Array {
  switch (type) {
    case 'application/json':
      return body
    case 'application/json-rpc':
      return unwrapJsonRpc(body, id)
    case 'application/proto-rpc':
      return unwrapProtoRpc(body, id)
    case 'application/octet-stream':
      // No message starts with a zero, because field number 0 is invalid.
      return body[0] === 0 ? unwrapProtoRpc(body, id) : body
    case 'application/grpc':
    case 'application/grpc+proto':
    case 'application/grpc+json':
      // Neither protobuf nor JSON starts with 0 or 1, the compression flag of a gRPC frame.
      if (body[0]! <= 1) throw rejectGrpc(id)
      return body
    default:
      return body
  }
}

function unwrapJsonRpc(body: Uint8Array, id: string): Uint8Array {
  const text = decodeUtf8(body, 'request body', id)
  parseJson(text, 'request body', id)
  const params = splitObject(text)?.get('params')
  // Taken from the text, so that numbers keep all digits.
  const items = params === undefined ? undefined : splitJsonList(params)
  const request = items === undefined ? params : items[0]
  if (
    request === undefined ||
    (items !== undefined && items.length > 1) ||
    !request.startsWith('{')
  ) {
    const expected = 'must be {"id": …, "method": …, "params": [{…}]}, with one object in params'
    throw badRequest(id, `request body of application/json-rpc ${expected}`)
  }
  return Buffer.from(request)
}

function unwrapProtoRpc(body: Uint8Array, id: string): Uint8Array {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const start = endOf(view, 0) + LENGTH_BYTES
  if (start > body.length || endOf(view, start - LENGTH_BYTES) !== body.length) {
    const expected = 'must be two messages, each prefixed with its length (4 bytes, big-endian)'
    throw badRequest(id, `request body of application/proto-rpc ${expected}`)
  }
  return body.subarray(start)
}

/** Returns the end of the message whose length is at `at`. */
function endOf(view: DataView, at: number): number {
  if (at + LENGTH_BYTES > view.byteLength) return Number.POSITIVE_INFINITY
  return at + LENGTH_BYTES + view.getUint32(at)
}

function rejectGrpc(id: string): GatewayError {
  const accept = 'application/json, application/protobuf'
  const detail = `gRPC frames require HTTP/2 (--listener=node) or application/grpc-web; otherwise send the message itself, as ${accept.replace(',', ' or')}`
  return new GatewayError(id, 415, detail, { headers: ['accept', accept] })
}

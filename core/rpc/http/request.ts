import { GatewayError } from '../../errors.ts'
import type { OutgoingCall } from '../call.ts'
import { METADATA_MAX_BYTES, PAYLOAD_MAX_BYTES } from '../ws/frames.ts'
import { toRequestFields } from './headers.ts'

/** A service or endpoint name that fits into a header value. */
const NAME = /^[\x21-\x7e]{1,1024}$/

/** A call as an HTTP request. */
export interface PlainRequest {
  /** Request line and headers, without `Mx-Timeout` and the empty line, one byte per character. */
  readonly head: string
  readonly body: Uint8Array
}

/** Formats a call for the HTTP transport (docs/protocol.md §3), or returns the error that prevents this. */
export function toPlainRequest(
  { service, endpoint, metadata, body, more }: OutgoingCall,
  host: string,
): PlainRequest | GatewayError {
  if (!NAME.test(service) || !NAME.test(endpoint)) {
    const detail = 'names must be 1 to 1024 visible ASCII characters'
    return new GatewayError(service.slice(0, 100), 400, detail)
  }
  if (more)
    return new GatewayError(service, 400, 'client streaming requires the WebSocket transport')
  if (metadata.length > METADATA_MAX_BYTES) {
    const detail = `metadata must be at most ${METADATA_MAX_BYTES} bytes`
    return new GatewayError(service, 431, detail)
  }
  const fields = toRequestFields(metadata)
  if (fields === undefined) return new GatewayError(service, 400, 'metadata is malformed')
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length > PAYLOAD_MAX_BYTES) {
    const detail = `request must be at most ${PAYLOAD_MAX_BYTES} bytes`
    return new GatewayError(service, 413, detail)
  }
  const head =
    `POST / HTTP/1.1\r\nhost: ${host}\r\nmx-service: ${service}\r\nmx-endpoint: ${endpoint}\r\n` +
    `${fields}content-length: ${bytes.length}\r\n`
  return { head, body: bytes }
}

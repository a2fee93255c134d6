import { GatewayError } from '../errors.ts'
import type { OutgoingCall } from './call.ts'
import { METADATA_MAX_BYTES, PAYLOAD_MAX_BYTES } from './frames.ts'
import { parseMetadata } from './metadata.ts'

/** Metadata that is not sent: the fields of the form itself, of the connection, and those that say where a message ends (RFC 9112 §6, RFC 9110 §7.6.1). */
const NOT_METADATA = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'mx-endpoint',
  'mx-service',
  'mx-timeout',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** A full service name, or that of an endpoint: what a field value can hold without loss. */
const NAME = /^[\x21-\x7e]{1,1024}$/

/** A call as an HTTP request. */
export interface PlainRequest {
  /** Request line and fields, without `Mx-Timeout` and the empty line; one character a byte. */
  readonly head: string
  readonly body: Uint8Array
}

/** The request of a call in the plain form (docs/protocol.md §3), or what makes it impossible. */
export function toPlainRequest(
  { service, endpoint, metadata, body, more }: OutgoingCall,
  host: string,
): PlainRequest | GatewayError {
  if (!NAME.test(service) || !NAME.test(endpoint)) {
    const detail = 'names must be visible ASCII, 1 to 1024 characters'
    return new GatewayError(service.slice(0, 100), 400, detail)
  }
  if (more) return new GatewayError(service, 400, 'streams from the caller need the fast form')
  if (metadata.length > METADATA_MAX_BYTES) {
    const detail = `metadata must be at most ${METADATA_MAX_BYTES} bytes`
    return new GatewayError(service, 431, detail)
  }
  const fields = toFields(metadata)
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

/** The fields of a metadata block, `content-type` among them. */
function toFields(metadata: string): string | undefined {
  if (metadata === '') return 'content-type: application/json\r\n'
  const list = parseMetadata(metadata)
  if (list === undefined) return undefined
  let text = ''
  let typed = false
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!
    // Names with an underscore are confused with dashes by servers that hand fields on as variables (RFC 3875 §4.1.18).
    if (NOT_METADATA.has(name) || name.includes('_')) continue
    if (name === 'content-type') {
      if (typed) continue
      typed = true
    }
    text += `${name}: ${list[i + 1]}\r\n`
  }
  return typed ? text : `${text}content-type: application/json\r\n`
}

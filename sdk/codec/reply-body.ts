import { toBadResponse } from '../../core/rpc/error-codec.ts'

/**
 * Parses the JSON of a response. An empty body is a message without fields.
 *
 * @param asText if true, returns the JSON text.
 * @throws {GatewayError} 502 for invalid JSON.
 */
export function parseReply(service: string, body: Uint8Array, asText = false): unknown {
  if (body.length === 0) return asText ? '{}' : {}
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  try {
    const text = bytes.toString()
    const value: unknown = JSON.parse(text)
    return asText ? text : value
  } catch (error) {
    throw toBadResponse(service, `invalid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

import { toBadAnswer } from '../../core/rpc/error-codec.ts'

/**
 * What the JSON of an answer says; an empty one is a message without fields.
 *
 * @param asText gives back the JSON itself.
 * @throws {GatewayError} 502 when it is no JSON.
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
    throw toBadAnswer(service, `no JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

import { toBadAnswer } from '../core/rpc/fail.ts'

/**
 * What the JSON of an answer says; an empty one is a message without fields.
 *
 * @throws {GatewayError} 502 when it is no JSON.
 */
export function parseReply(service: string, body: Uint8Array): unknown {
  if (body.length === 0) return {}
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  try {
    return JSON.parse(bytes.toString())
  } catch (error) {
    throw toBadAnswer(service, `no JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

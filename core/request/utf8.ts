import { badRequest } from './bad-request.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Decodes UTF-8 and removes a leading byte order mark (RFC 8259 §8.1).
 *
 * @throws {GatewayError} 400 for invalid UTF-8; `label` describes the text.
 */
export function decodeUtf8(bytes: Uint8Array, label: string, id: string): string {
  try {
    return decoder.decode(bytes)
  } catch (error) {
    throw badRequest(id, `${label} must be UTF-8 text`, error)
  }
}

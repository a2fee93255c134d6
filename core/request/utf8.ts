import { badRequest } from './bad-request.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Text of bytes in UTF-8; a byte order mark at the begin is dropped (RFC 8259 §8.1 allows it).
 *
 * @throws {GatewayError} 400 when they are not UTF-8; `what` names them.
 */
export function decodeUtf8(bytes: Uint8Array, what: string, id: string): string {
  try {
    return decoder.decode(bytes)
  } catch (error) {
    throw badRequest(id, `${what} must be text in UTF-8`, error)
  }
}

import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { HeaderList } from '../../http/headers.ts'

/** Sixteen bytes in base64 (RFC 6455 §4.1, item 7). */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * Validates the client's WebSocket handshake, except method, `Upgrade` and `Connection` (RFC 6455 §4.2.1). Returns the
 * error to send, or undefined if it is valid.
 *
 * @param bodyLength see `Exchange.bodyLength`.
 */
export function validateHandshake(
  headers: HeaderList,
  bodyLength: number,
): GatewayError | undefined {
  if (bodyLength !== 0) return rejectUpgrade('a WebSocket handshake must not have a body')
  const versions = headers.getAll('sec-websocket-version')
  if (versions.length === 1 && versions[0] !== '13') {
    return new GatewayError(GATEWAY_ID, 426, 'Sec-WebSocket-Version must be 13', {
      headers: ['sec-websocket-version', '13'],
    })
  }
  if (versions.length !== 1)
    return rejectUpgrade('a WebSocket handshake requires one Sec-WebSocket-Version')
  const keys = headers.getAll('sec-websocket-key')
  if (keys.length === 1 && KEY.test(keys[0]!)) return undefined
  return rejectUpgrade('a WebSocket handshake requires one Sec-WebSocket-Key of 16 bytes in base64')
}

/** Creates the error for a request without the required WebSocket handshake (RFC 9110 §15.5.22). */
export function upgradeRequired(): GatewayError {
  return new GatewayError(GATEWAY_ID, 426, 'a WebSocket handshake is required')
}

/**
 * Selects the subprotocol: `supported` if the client offers it, otherwise `''`.
 *
 * @throws {TypeError} if `supported` is not a token (RFC 6455 §4.1, item 10).
 */
export function chooseProtocol(headers: HeaderList, supported = ''): string {
  if (supported === '') return ''
  if (!TOKEN.test(supported)) {
    throw new TypeError(`subprotocol must be a token, got ${JSON.stringify(supported)}`)
  }
  const offers = headers.getAll('sec-websocket-protocol').join(',').split(',')
  return offers.some((offer) => offer.trim() === supported) ? supported : ''
}

function rejectUpgrade(detail: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, detail)
}

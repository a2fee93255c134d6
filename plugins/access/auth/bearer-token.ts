import { API_KEY_HEADER, isApiKey } from '../../../core/auth/token/api-key.ts'
import { readBearer } from '../../../core/auth/token/bearer.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'

/**
 * Reads the access token or API key from `Authorization: Bearer`, otherwise the API key from `X-Api-Key`. Returns
 * undefined if there is neither. Cookies are not read, because browsers add them to requests from any page. Values of
 * `X-Api-Key` without the prefix of API keys are intended for the backend.
 *
 * @throws {GatewayError} 400 for several `Authorization` headers, or several headers with an API key.
 */
export function readToken({ headers: { flat } }: Exchange): string | undefined {
  let authorization: string | undefined
  let apiKey: string | undefined
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (name.length === 13 && name === 'authorization') {
      if (authorization !== undefined) throw toRepeated('Authorization')
      authorization = flat[i + 1]!
    } else if (name.length === 9 && name === API_KEY_HEADER && isApiKey(flat[i + 1]!)) {
      if (apiKey !== undefined) throw toRepeated('X-Api-Key')
      apiKey = flat[i + 1]!
    }
  }
  return (authorization === undefined ? undefined : readBearer(authorization)) ?? apiKey
}

/**
 * Replaces the API key in `X-Api-Key` by `Authorization: Bearer`, in which services forward credentials to the services
 * they call. An `Authorization` header of another scheme is intended for the backend and remains.
 */
export function moveApiKey({ headers }: Exchange): void {
  const apiKey = headers.get(API_KEY_HEADER)
  if (apiKey === undefined || !isApiKey(apiKey)) return
  headers.delete(API_KEY_HEADER)
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${apiKey}`)
}

function toRepeated(name: string): GatewayError {
  return new GatewayError(GATEWAY_ID, 400, `expected one ${name} header, got several`)
}

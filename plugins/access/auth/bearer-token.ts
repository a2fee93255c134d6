import { readBearer } from '../../../core/auth/token/bearer.ts'
import { GATEWAY_ID, GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'

/**
 * Reads the access token from `Authorization: Bearer`. Returns undefined if the header is absent. Cookies are not read,
 * because browsers add them to requests from any page.
 *
 * @throws {GatewayError} 400 for several `Authorization` headers.
 */
export function readToken({ headers: { flat } }: Exchange): string | undefined {
  let authorization: string | undefined
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (name.length !== 13 || name !== 'authorization') continue
    if (authorization !== undefined)
      throw new GatewayError(GATEWAY_ID, 400, 'expected one Authorization header, got several')
    authorization = flat[i + 1]!
  }
  return authorization === undefined ? undefined : readBearer(authorization)
}

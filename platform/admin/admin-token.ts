import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import { unauthorized } from '../../sdk/errors.ts'
import type { AdminResponse } from './admin.ts'

/** Id used in errors. */
export const ADMIN_ERROR_ID = 'admin'
/** Author of changes made with the token, which belongs to no account. */
export const ADMIN_AUTHOR = 'admin token'

/**
 * Returns a function that checks the bearer token. It throws a {@link GatewayError} 401 if the
 * token is invalid.
 */
export function createTokenCheck(token: string): (request: IncomingMessage) => void {
  const expected = digest(`Bearer ${token}`)
  return ({ headers }) => {
    if (timingSafeEqual(digest(headers.authorization ?? ''), expected)) return
    throw unauthorized(
      ADMIN_ERROR_ID,
      'invalid admin token; send the header Authorization: Bearer <admin_token>',
      { headers: ['www-authenticate', 'Bearer'] },
    )
  }
}

/** Responds with JSON, or with the JSON of a {@link GatewayError}. @throws other errors */
export async function respondJson(
  handle: () => Promise<{ readonly body: object; readonly headers?: Record<string, string> }>,
): Promise<AdminResponse> {
  try {
    const { body, headers = {} } = await handle()
    return toJson(200, body, headers)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const [name, value] = error.headers ?? []
    const headers = name !== undefined && value !== undefined ? { [name]: value } : {}
    return toJson(error.code, error.toBody(), headers)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function toJson(status: number, body: object, headers: Record<string, string>): AdminResponse {
  return { status, type: 'application/json', text: `${JSON.stringify(body)}\n`, headers }
}

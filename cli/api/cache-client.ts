import type { PurgeSelection } from '../../core/contracts/response-caches.ts'
import { parseServiceError } from '../../sdk/errors.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { toUnreachable } from './admin-errors.ts'

/**
 * Removes stored responses of a running gateway. Returns their number.
 *
 * @param url of the admin server, such as `http://127.0.0.1:8089`.
 * @throws {CliError} if the gateway is unreachable or rejects the request.
 */
export async function purgeCache(
  url: string,
  token: string,
  selection: PurgeSelection & { readonly all?: true },
): Promise<number> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(selection))
    if (value !== undefined) query.set(name, String(value))
  const response = await fetch(`${url}/cache/purge?${query}`, {
    method: 'POST',
    ...(token !== '' && { headers: { authorization: `Bearer ${token}` } }),
  }).catch((error) => {
    throw toUnreachable(url, error)
  })
  const text = await response.text()
  if (response.ok) return (JSON.parse(text) as { readonly removed: number }).removed
  const { message } = parseServiceError(text, 'admin', response.status)
  throw new CliError(message, {
    status: response.status === 401 ? EXIT.unauthorized : EXIT.serviceError,
  })
}

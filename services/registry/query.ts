import type { Registry } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { isPermanent } from '../../core/registry/errors.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { badRequest, forbidden, unavailable } from '../../sdk/errors.ts'

/**
 * Queries a registry and maps its errors for callers. Outages are logged by the gateway's service
 * cache.
 *
 * @param id id used in the error.
 * @throws {GatewayError} 400 for malformed input, 403 if the registry denies access, 503 if it is
 * unavailable.
 */
export async function queryRegistry<T>(
  registry: Registry,
  id: string,
  read: () => Maybe<T>,
): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof GatewayError || !(cause instanceof Error)) throw cause
    const { message } = cause
    if (cause instanceof TypeError) throw badRequest(id, message, { cause })
    if (isPermanent(cause))
      throw forbidden(id, `the registry ${registry.name} denied access: ${message}`, { cause })
    throw unavailable(id, `the registry ${registry.name} is unavailable: ${message}`, { cause })
  }
}

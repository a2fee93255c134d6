import type { Service } from '../../core/contracts/registry.ts'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'

export interface ServiceVersions {
  readonly versions: readonly Service[]
  readonly domain: string
}

/**
 * Finds all versions of a service in the namespace, else in the default namespace, which contains the built-in services
 * (reference 8.2).
 *
 * @throws {CallError} 404 if it is not registered.
 */
export async function findService(
  name: string,
  namespace: string,
  signal?: AbortSignal,
): Promise<ServiceVersions> {
  let firstError: CallError | undefined
  for (const domain of new Set([namespace, DEFAULT_NAMESPACE])) {
    try {
      const request = { service: name, options: { domain } }
      const { body } = await call<{ services: readonly Service[] }>(
        'registry',
        'Registry.GetService',
        request,
        signal === undefined ? {} : { signal },
      )
      return { versions: body.services, domain }
    } catch (error) {
      firstError ??= CallError.from(error)
      // The service is not found, or access to the namespace is denied. Continues with the default namespace.
      if (![401, 403, 404].includes(CallError.from(error).code)) throw error
    }
  }
  throw firstError!
}

import type { Service } from '../../core/contracts/registry.ts'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { DEFAULT_NAMESPACE } from '../state/session.ts'

/** What the registry knows of a service. */
export interface FoundService {
  readonly versions: readonly Service[]
  /** The domain it is in. */
  readonly domain: string
}

/**
 * All versions of a service: of the namespace, else of the default one, where built-in services are (reference 8.2).
 *
 * @throws {CallError} 404 where nobody knows it.
 */
export async function findService(
  name: string,
  namespace: string,
  signal?: AbortSignal,
): Promise<FoundService> {
  let failed: CallError | undefined
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
      failed ??= CallError.from(error)
      // Not there, or nothing of a namespace whose member the caller is not: then of the default one.
      if (![401, 403, 404].includes(CallError.from(error).code)) throw error
    }
  }
  throw failed!
}

import type { Endpoint, Service } from '../../core/contracts/registry.ts'
import { CallError } from '../rpc/call-error.ts'
import { call } from '../rpc/caller.ts'
import { DEFAULT_NAMESPACE } from '../session.ts'

/** `Handler.Method`. */
const ENDPOINT = /^[A-Za-z][A-Za-z0-9]*\.[A-Za-z][A-Za-z0-9]*$/

/**
 * All versions of a service: of the namespace, else of the default one, where built-in services are (reference 8.2).
 *
 * @throws {CallError} 404 where nobody knows it.
 */
export async function findService(
  name: string,
  namespace: string,
  signal?: AbortSignal,
): Promise<readonly Service[]> {
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
      return body.services
    } catch (error) {
      failed ??= CallError.from(error)
      // Not there, or nothing of a namespace whose member the caller is not: then of the default one.
      if (![401, 403, 404].includes(CallError.from(error).code)) throw error
    }
  }
  throw failed!
}

/** Endpoints of several versions, each once, by name; what is subscribed to is none. */
export function listEndpoints(versions: readonly Service[]): readonly Endpoint[] {
  const all = new Map<string, Endpoint>()
  for (const { endpoints } of versions)
    for (const endpoint of endpoints)
      if (ENDPOINT.test(endpoint.name)) all.set(endpoint.name, endpoint)
  return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

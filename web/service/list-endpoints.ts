import type { Endpoint, Service } from '../../core/contracts/registry.ts'

/** `Handler.Method`. */
const ENDPOINT = /^[A-Za-z][A-Za-z0-9]*\.[A-Za-z][A-Za-z0-9]*$/

/** Unique endpoints of all versions, ordered by name, without subscriptions. */
export function listEndpoints(versions: readonly Service[]): readonly Endpoint[] {
  const all = new Map<string, Endpoint>()
  for (const { endpoints } of versions)
    for (const endpoint of endpoints)
      if (ENDPOINT.test(endpoint.name)) all.set(endpoint.name, endpoint)
  return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

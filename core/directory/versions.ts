import type { RegistryEvent, Service } from '../contracts/registry.ts'

/** The versions of a service after an event. */
export function follow(
  services: readonly Service[],
  { type, service }: RegistryEvent,
): readonly Service[] {
  const others = services.filter(({ version }) => version !== service.version)
  return type === 'delete' ? others : [...others, service]
}

/**
 * What a registry tells of a service, and besides the nodes and versions known before that it does not name any more:
 * what is used while their end is in doubt. `told` itself when nothing is missing.
 *
 * A node that is told under another version, or with another address, has moved.
 */
export function addMissing(
  known: readonly Service[],
  told: readonly Service[],
): readonly Service[] {
  const ids = new Set(told.flatMap(({ nodes }) => nodes.map(({ id }) => id)))
  const versions = new Map(told.map((service) => [service.version, service]))
  let complete = true
  for (const service of known) {
    const missing = service.nodes.filter(({ id }) => !ids.has(id))
    const now = versions.get(service.version)
    const moved = now !== undefined || service.nodes.length > 0
    if (missing.length === 0 && moved) continue
    complete = false
    versions.set(service.version, {
      ...(now ?? service),
      nodes: [...(now?.nodes ?? []), ...missing],
    })
  }
  return complete ? told : [...versions.values()]
}

import type { Node, RegistryEvent, Service } from '../contracts/registry.ts'

/** Applies an event to the versions of a service. */
export function applyEvent(
  services: readonly Service[],
  { type, service }: RegistryEvent,
): readonly Service[] {
  const others = services.filter(({ version }) => version !== service.version)
  return type === 'delete' ? others : [...others, service]
}

export interface VersionNode {
  readonly service: Service
  readonly node: Node
}

/** Returns the nodes missing from `after`. A node with another version or address has moved and is not missing. */
export function findMissing(before: readonly Service[], after: readonly Service[]): VersionNode[] {
  const ids = new Set(after.flatMap(({ nodes }) => nodes.map(({ id }) => id)))
  return before.flatMap((service) =>
    service.nodes.filter(({ id }) => !ids.has(id)).map((node) => ({ service, node })),
  )
}

/** Adds nodes to the versions of a service. */
export function addNodes(
  services: readonly Service[],
  others: readonly VersionNode[],
): readonly Service[] {
  const versions = new Map(services.map((service) => [service.version, service]))
  for (const { service, node } of others) {
    const existing = versions.get(service.version)
    versions.set(service.version, {
      ...(existing ?? service),
      nodes: [...(existing?.nodes ?? []), node],
    })
  }
  return [...versions.values()]
}

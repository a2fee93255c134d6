import type { Node, RegistryEvent, Service } from '../contracts/registry.ts'

/** The versions of a service after an event. */
export function follow(
  services: readonly Service[],
  { type, service }: RegistryEvent,
): readonly Service[] {
  const others = services.filter(({ version }) => version !== service.version)
  return type === 'delete' ? others : [...others, service]
}

/** A node, and the version it belongs to. */
export interface VersionNode {
  readonly service: Service
  readonly node: Node
}

/** The nodes that `after` does not name any more. One that is named under another version, or with another address, has moved. */
export function findMissing(before: readonly Service[], after: readonly Service[]): VersionNode[] {
  const ids = new Set(after.flatMap(({ nodes }) => nodes.map(({ id }) => id)))
  return before.flatMap((service) =>
    service.nodes.filter(({ id }) => !ids.has(id)).map((node) => ({ service, node })),
  )
}

/** The versions of a service, with other nodes besides. */
export function addNodes(
  services: readonly Service[],
  others: readonly VersionNode[],
): readonly Service[] {
  const versions = new Map(services.map((service) => [service.version, service]))
  for (const { service, node } of others) {
    const known = versions.get(service.version)
    versions.set(service.version, {
      ...(known ?? service),
      nodes: [...(known?.nodes ?? []), node],
    })
  }
  return [...versions.values()]
}

import type { RegistryEvent, Service } from '../contracts/registry.ts'
import { isSameService } from './service.ts'

/** Returns the events between two lists of versions: created and updated versions first, then deleted ones. */
export function diffServices(
  before: readonly Service[],
  after: readonly Service[],
): RegistryEvent[] {
  const events: RegistryEvent[] = []
  const old = new Map(before.map((service) => [keyOf(service), service]))
  for (const service of after) {
    const known = old.get(keyOf(service))
    old.delete(keyOf(service))
    if (known === undefined) events.push({ type: 'create', service })
    else if (known !== service && !isSameService(known, service))
      events.push({ type: 'update', service })
  }
  for (const service of old.values())
    events.push({ type: 'delete', service: { ...service, nodes: [] } })
  return events
}

/** Names and versions contain no spaces. */
function keyOf({ name, version }: Service): string {
  return `${name} ${version}`
}

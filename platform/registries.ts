import { createMemoryRegistry } from '../adapters/registry/memory.ts'
import { createStaticRegistry } from '../adapters/registry/static.ts'
import type { Registry, Service } from '../core/contracts/registry.ts'
import type { Settings } from './settings.ts'

/** A registry that holds, besides what is registered with it, the services of the configuration. */
export interface ConfiguredRegistry {
  readonly registry: Registry
  /** Takes over another list of services. */
  readonly replace: (services: readonly Service[]) => void
}

/** Registries by the name of the setting `registry`. */
export const REGISTRIES: Readonly<
  Record<Settings['registry'], (services: readonly Service[]) => ConfiguredRegistry>
> = {
  static(services) {
    const registry = createStaticRegistry(services)
    return { registry, replace: registry.replace }
  },

  memory(services) {
    const registry = createMemoryRegistry()
    let listed: readonly Service[] = []
    const replace = (next: readonly Service[]): void => {
      for (const service of listed) void registry.deregister?.(service)
      for (const service of next) void registry.register?.(service)
      listed = next
    }
    replace(services)
    return { registry, replace }
  },
}

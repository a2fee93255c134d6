import { createJoinedRegistry } from '../adapters/registry/joined.ts'
import { createStaticRegistry } from '../adapters/registry/static.ts'
import type { Registry, Service } from '../core/contracts/registry.ts'
import { openRegistry } from '../sdk/open-registry.ts'

/** A registry that holds, besides what is registered with it, the services of the configuration. */
export interface ConfiguredRegistry {
  readonly registry: Registry
  /** Settled once it can be asked; rejects when it never can: a file it takes is not there, say. */
  readonly loaded: Promise<void>
  /** Takes over another list of services. */
  readonly replace: (services: readonly Service[]) => void
}

/**
 * The registry of the setting `registry`, with the services of the configuration.
 *
 * @param text checked: `static`, or what {@link openRegistry} opens.
 */
export function createConfiguredRegistry(
  text: string,
  services: readonly Service[],
): ConfiguredRegistry {
  const own = createStaticRegistry(services)
  const { replace } = own
  if (text === 'static') return { registry: own, loaded: Promise.resolve(), replace }
  const { registry, loaded, close } = openRegistry(text)
  return {
    registry: createJoinedRegistry(own, { ...registry, watch: registry.watch!, close }),
    loaded,
    replace,
  }
}

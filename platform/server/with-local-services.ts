import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { createJoinedRegistry } from '../../adapters/registry/overlay-registry.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import { notImplemented } from '../../sdk/errors.ts'

/**
 * Combines a read-only registry with the services of this server, which take precedence.
 *
 * @param isLocal returns whether an address belongs to this server.
 */
export function withLocalServices(
  registry: Registry,
  isLocal: (address: string) => boolean,
): Registry {
  const local = createMemoryRegistry()
  const check = ({ nodes }: Service): void => {
    if (nodes.every(({ address }) => isLocal(address))) return
    throw notImplemented(
      'registry.Registry.Register',
      `the registry ${registry.name} is read-only: it discovers services itself`,
    )
  }
  return {
    ...createJoinedRegistry(local, { ...registry, watch: registry.watch! }),

    register(service, options) {
      check(service)
      local.register(service, options)
    },

    deregister(service) {
      check(service)
      local.deregister(service)
    },
  }
}

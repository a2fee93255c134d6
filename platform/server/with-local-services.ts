import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { createJoinedRegistry } from '../../adapters/registry/overlay-registry.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import { notImplemented } from '../../sdk/errors.ts'

/**
 * A registry nobody can register with, and the services of this server besides, which hide others of their name.
 *
 * @param isOwn whether a node at this address is one of this server's own.
 */
export function withLocalServices(
  registry: Registry,
  isOwn: (address: string) => boolean,
): Registry {
  const own = createMemoryRegistry()
  const check = ({ nodes }: Service): void => {
    if (nodes.every(({ address }) => isOwn(address))) return
    throw notImplemented(
      'registry.Registry.Register',
      `the registry ${registry.name} takes no registrations: it knows by itself what runs`,
    )
  }
  return {
    ...createJoinedRegistry(own, { ...registry, watch: registry.watch! }),

    register(service, options) {
      check(service)
      own.register(service, options)
    },

    deregister(service) {
      check(service)
      own.deregister(service)
    },
  }
}

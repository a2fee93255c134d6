import type { Registry, Service } from '../../../core/contracts/registry.ts'
import { choose, type FallbackServices, watchJoined } from './mesh-watch.ts'

type Watchable = Registry & Required<Pick<Registry, 'watch'>>

/**
 * Combines a registry with services of other servers. Registered services take precedence.
 * Registrations are sent to the registry, which its owner closes.
 *
 * @param isLocal returns whether a service is in the registry rather than in `network`.
 */
export function createJoinedRegistry(
  registry: Watchable,
  network: FallbackServices,
  isLocal: (name: string) => boolean,
): Watchable {
  const sides = { registry, network, isLocal }
  const orNetwork = (name: string, services: readonly Service[]): readonly Service[] =>
    choose(services, network.getService(name))

  const addNetwork = (services: readonly Service[]): readonly Service[] => {
    const names = new Set(services.map(({ name }) => name))
    return [...services, ...network.listServices().filter(({ name }) => !names.has(name))]
  }

  const { close: _, ...rest } = registry
  return {
    ...rest,

    getService(name) {
      const services = registry.getService(name)
      return services instanceof Promise
        ? services.then((later) => orNetwork(name, later))
        : orNetwork(name, services)
    },

    listServices() {
      const services = registry.listServices()
      return services instanceof Promise ? services.then(addNetwork) : addNetwork(services)
    },

    watch: (listener, options = {}) => watchJoined(sides, listener, options),
  }
}

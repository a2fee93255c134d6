import { createJoinedRegistry } from '../../adapters/registry/overlay-registry.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { type OpenedRegistry, openRegistry } from '../../sdk/registry/open-registry.ts'
import { trackReadiness } from '../gateway/registry-readiness.ts'

/** A registry that holds, besides what is registered with it, the services of the configuration. */
export interface ConfiguredRegistry {
  readonly registry: Registry
  /** Settled once it can be asked; rejects when it never can: a file it takes is not there, say. */
  readonly loaded: Promise<void>
  /** Why nothing is known from it but the services of the configuration: `HeardRegistry`. */
  readonly problem: () => Maybe<string | undefined>
  /** Takes over another list of services. */
  readonly replace: (services: readonly Service[]) => void
}

/**
 * A registry, with the services of the configuration.
 *
 * @param source of the setting `registry`, checked: `static`, or what {@link openRegistry} opens. Or a registry, which is not closed.
 * @param tokens who asks a registry that is opened.
 */
export function createConfiguredRegistry(
  source: string | Registry,
  services: readonly Service[],
  tokens?: TokenSource,
): ConfiguredRegistry {
  const own = createStaticRegistry(services)
  const { replace } = own
  if (source === 'static')
    return { registry: own, loaded: Promise.resolve(), problem: () => undefined, replace }
  const { registry, loaded, close } =
    typeof source === 'string' ? openRegistry(source, { tokens }) : lend(source)
  const other = trackReadiness({ ...registry, watch: registry.watch!, close })
  const joined = createJoinedRegistry(own, other.registry)
  return { registry: joined, loaded, problem: other.problem, replace }
}

function lend(registry: Registry): OpenedRegistry {
  return { registry, loaded: Promise.resolve(), close: async () => {} }
}

import { createJoinedRegistry } from '../../adapters/registry/overlay-registry.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Registry, Service } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { type OpenedRegistry, openRegistry } from '../../sdk/registry/open-registry.ts'
import { trackReadiness } from '../gateway/registry-readiness.ts'

/** A registry combined with the services in the configuration. */
export interface ConfiguredRegistry {
  readonly registry: Registry
  /**
   * Resolves once the registry can be queried. Rejects on permanent errors such as a missing file.
   */
  readonly loaded: Promise<void>
  /** See {@link ReadinessRegistry}. */
  readonly problem: () => Maybe<string | undefined>
  /** Replaces the services in the configuration. */
  readonly replace: (services: readonly Service[]) => void
}

/**
 * Combines a registry with the services in the configuration.
 *
 * @param source validated `registry` setting: `static` or a URL for {@link openRegistry}; or an
 * open registry, which is not closed.
 * @param tokens credentials for a registry opened here.
 */
export function createConfiguredRegistry(
  source: string | Registry,
  services: readonly Service[],
  tokens?: TokenSource,
): ConfiguredRegistry {
  const configured = createStaticRegistry(services)
  const { replace } = configured
  if (source === 'static')
    return { registry: configured, loaded: Promise.resolve(), problem: () => undefined, replace }
  const { registry, loaded, close } =
    typeof source === 'string' ? openRegistry(source, { tokens }) : withoutClose(source)
  const tracked = trackReadiness({ ...registry, watch: registry.watch!, close })
  const joined = createJoinedRegistry(configured, tracked.registry)
  return { registry: joined, loaded, problem: tracked.problem, replace }
}

function withoutClose(registry: Registry): OpenedRegistry {
  return { registry, loaded: Promise.resolve(), close: async () => {} }
}

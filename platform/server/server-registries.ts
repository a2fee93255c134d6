import { parseConsulUrl } from '../../adapters/registry/consul/http/url.ts'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { withTimeout } from '../../lib/async/timeout.ts'
import { redactUrl } from '../../lib/text/redact.ts'
import type { DomainRegistries } from '../gateway/routing/domains.ts'
import { withLocalServices } from './with-local-services.ts'

/** Registries of a server, one per domain. */
export interface ServerRegistries extends DomainRegistries {
  /** Registry of the default domain, which contains the built-in services. */
  readonly registry: Registry
  /** Returns or creates the registry of a domain. Its `close` removes it. */
  readonly create: (domain: string) => Registry
  /** Returns the domains that have services. */
  readonly list: () => ReadonlySet<string>
  /** @throws {Error} with a one-line message if the registry is unreachable or denies access. */
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface ServerRegistriesOptions {
  /** Returns whether an address belongs to this server. */
  readonly isLocal: (address: string) => boolean
  readonly onWarning: (message: string) => void
}

const CHECK_MS = 10_000
/** Maximum number of watched domains that other servers have registered. */
const MAX_FOUND = 64
/** Maximum number of blocking Consul queries per domain. */
const MAX_WAITING_PER_DOMAIN = 8

/**
 * Opens the registries of the `registry` setting of `mx server`.
 *
 * @param text validated: `memory`, `kubernetes`, or a Consul URL.
 */
export async function openServerRegistries(
  text: string,
  options: ServerRegistriesOptions,
): Promise<ServerRegistries> {
  const createRegistry = await load(text, options)
  const open = new Map<string, Registry>()
  /** Domains opened because other servers registered services in them. */
  const discovered = new Set<string>()

  function add(domain: string): Registry {
    const registry = createRegistry(domain)
    const close = (): unknown => {
      open.delete(domain)
      discovered.delete(domain)
      return registry.close?.()
    }
    const owned: Registry = { ...registry, close: close as NonNullable<Registry['close']> }
    open.set(domain, owned)
    return owned
  }

  const registry = add(DEFAULT_DOMAIN)
  const isElsewhere = (domain: string): boolean => registry.listDomains?.().has(domain) === true

  return {
    registry,

    create(domain) {
      discovered.delete(domain)
      return open.get(domain) ?? add(domain)
    },

    find(domain) {
      const existing = open.get(domain)
      if (discovered.has(domain) && !isElsewhere(domain)) {
        void existing?.close?.()
        return undefined
      }
      if (existing !== undefined || !isElsewhere(domain) || discovered.size >= MAX_FOUND)
        return existing
      discovered.add(domain)
      return add(domain)
    },

    list: () => new Set([...open.keys(), ...(registry.listDomains?.() ?? [])]),

    async check() {
      try {
        await withTimeout(Promise.resolve(registry.listServices()), CHECK_MS)
      } catch (error) {
        const reason = (error as Error).message
        throw new Error(`the registry ${redactUrl(text)} is not available: ${reason}`, {
          cause: error,
        })
      }
    },

    async close() {
      for (const registry of [...open.values()]) await registry.close?.()
    },
  }
}

/** Returns the factory for registries. Imports its library on demand. */
async function load(
  text: string,
  { isLocal, onWarning }: ServerRegistriesOptions,
): Promise<(domain: string) => Registry> {
  if (text === 'memory') return () => createMemoryRegistry()
  if (text === 'kubernetes') {
    const { createKubernetesRegistry } = await import('../../adapters/registry/kubernetes.ts')
    return (domain) =>
      domain === DEFAULT_DOMAIN
        ? withLocalServices(createKubernetesRegistry({ onProblem: onWarning }), isLocal)
        : { ...createStaticRegistry([]), name: 'kubernetes' }
  }
  const { createConsulRegistry } = await import('../../adapters/registry/consul.ts')
  const address = parseConsulUrl(text)
  return (domain) =>
    domain === DEFAULT_DOMAIN
      ? createConsulRegistry({ ...address, onWarning })
      : createConsulRegistry({ ...address, domain, maxWaiting: MAX_WAITING_PER_DOMAIN, onWarning })
}

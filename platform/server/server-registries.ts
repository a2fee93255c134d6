import { parseConsulUrl } from '../../adapters/registry/consul/http/url.ts'
import { createMemoryRegistry } from '../../adapters/registry/memory.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { withTimeout } from '../../lib/async/timeout.ts'
import { redactUrl } from '../../lib/text/redact.ts'
import type { Domains } from '../gateway/routing/domains.ts'
import { withLocalServices } from './with-local-services.ts'

/** The registries of a server, one for each domain. */
export interface ServerRegistries extends Domains {
  /** Of the default domain: the services of this server are in it. */
  readonly registry: Registry
  /** That of a domain, made where it is missing. Closing it ends it. */
  readonly create: (domain: string) => Registry
  /** Domains that have services, whoever registered them. */
  readonly list: () => ReadonlySet<string>
  /** @throws {Error} with one line when the registry refuses or does not answer. */
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface ServerRegistriesOptions {
  /** Whether a node at this address is one of this server's own. */
  readonly isOwn: (address: string) => boolean
  readonly onWarning: (message: string) => void
}

const CHECK_MS = 10_000
/** Domains somebody else registered something in, and that are looked into here. */
const MAX_FOUND = 64
/** Connections of a domain that wait at Consul. */
const WAITING_OF_DOMAIN = 8

/**
 * The registries that the setting `registry` of `mx server` stands for.
 *
 * @param text checked: `memory`, `kubernetes`, or the text of Consul.
 */
export async function openServerRegistries(
  text: string,
  options: ServerRegistriesOptions,
): Promise<ServerRegistries> {
  const make = await load(text, options)
  const made = new Map<string, Registry>()
  /** Made because somebody else registered something there. */
  const found = new Set<string>()

  function add(domain: string): Registry {
    const registry = make(domain)
    const close = (): unknown => {
      made.delete(domain)
      found.delete(domain)
      return registry.close?.()
    }
    const owned: Registry = { ...registry, close: close as NonNullable<Registry['close']> }
    made.set(domain, owned)
    return owned
  }

  const registry = add(DEFAULT_DOMAIN)
  const isElsewhere = (domain: string): boolean => registry.listDomains?.().has(domain) === true

  return {
    registry,

    create(domain) {
      found.delete(domain)
      return made.get(domain) ?? add(domain)
    },

    find(domain) {
      const known = made.get(domain)
      if (found.has(domain) && !isElsewhere(domain)) {
        void known?.close?.()
        return undefined
      }
      if (known !== undefined || !isElsewhere(domain) || found.size >= MAX_FOUND) return known
      found.add(domain)
      return add(domain)
    },

    list: () => new Set([...made.keys(), ...(registry.listDomains?.() ?? [])]),

    async check() {
      try {
        await withTimeout(Promise.resolve(registry.listServices()), CHECK_MS)
      } catch (error) {
        const reason = (error as Error).message
        throw new Error(`the registry ${redactUrl(text)} cannot be used: ${reason}`, {
          cause: error,
        })
      }
    },

    async close() {
      for (const registry of [...made.values()]) await registry.close?.()
    },
  }
}

/** How the registry of a domain is made; its library is loaded by those only who use it. */
async function load(
  text: string,
  { isOwn, onWarning }: ServerRegistriesOptions,
): Promise<(domain: string) => Registry> {
  if (text === 'memory') return () => createMemoryRegistry()
  if (text === 'kubernetes') {
    const { createKubernetesRegistry } = await import('../../adapters/registry/kubernetes.ts')
    return (domain) =>
      domain === DEFAULT_DOMAIN
        ? withLocalServices(createKubernetesRegistry({ onProblem: onWarning }), isOwn)
        : { ...createStaticRegistry([]), name: 'kubernetes' }
  }
  const { createConsulRegistry } = await import('../../adapters/registry/consul.ts')
  const address = parseConsulUrl(text)
  return (domain) =>
    domain === DEFAULT_DOMAIN
      ? createConsulRegistry({ ...address, onWarning })
      : createConsulRegistry({ ...address, domain, maxWaiting: WAITING_OF_DOMAIN, onWarning })
}

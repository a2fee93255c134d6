import type { Registry, RegistryEvent } from '../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import { createSortedList, type SortedList } from './sorted-list.ts'
import { createRegistryUsage, type RegistryUsage } from './usage.ts'
import { createWatchAll } from './watch-all.ts'

/** Not a domain, but all of them. */
export const ALL_DOMAINS = '*'

/** A set of services that knows nothing of the others. */
export interface Domain extends Omit<SortedList, 'close'>, Omit<RegistryUsage, 'close'> {
  readonly name: string
  readonly registry: Registry
  /** Watches all services; absent: the registry tells no changes. */
  readonly watchAll: ReturnType<typeof createWatchAll>
}

/** Told of what happens in a domain. */
export type DomainListener = (event: RegistryEvent, domain: string) => void

/** The domains there are: a registry each. */
export interface Domains {
  /** Those a reader means; none where nothing was ever registered, since reading opens no domain. */
  readonly select: (name: string) => readonly Domain[]
  /**
   * The domain of this name, for a registration.
   *
   * @throws {GatewayError} 429 when it would be one too many.
   */
  readonly open: (name: string, id: string) => Domain
  /** Listens to the domains a reader means, those included that are opened later; until the function that is returned is called. */
  readonly watch: (
    name: string,
    service: string | undefined,
    listener: DomainListener,
  ) => () => void
  readonly close: () => Promise<void>
}

interface OpenDomain extends Domain {
  readonly close: () => Maybe<void>
}

interface Watcher {
  readonly name: string
  readonly service: string | undefined
  readonly listener: DomainListener
  /** How to stop listening to a domain, by its name. */
  readonly stops: Map<string, () => void>
}

/**
 * Begins with the default domain.
 *
 * @param listOthers domains in which others registered services, who share the registries.
 * @param max how many there may be. A domain without services gives way to another.
 */
export function createDomains(
  createRegistry: (domain: string) => Registry,
  listOthers: () => ReadonlySet<string> = () => NO_DOMAINS,
  max = 64,
): Domains {
  const domains = new Map<string, OpenDomain>()
  const watchers = new Set<Watcher>()

  function open(name: string, id: string): OpenDomain {
    const known = domains.get(name)
    if (known !== undefined) return known
    if (domains.size >= max) dropEmpty()
    if (domains.size >= max)
      throw tooManyRequests(id, `there are ${max} domains already, ${name} would be one too many`)
    const domain = createDomain(name, createRegistry(name))
    domains.set(name, domain)
    for (const watcher of watchers) attach(watcher, domain)
    return domain
  }

  function dropEmpty(): void {
    for (const domain of domains.values()) {
      if (domain.name === DEFAULT_DOMAIN || domain.size() > 0) continue
      domains.delete(domain.name)
      for (const { stops } of watchers) {
        stops.get(domain.name)?.()
        stops.delete(domain.name)
      }
      // Of one without services nobody waits for what becomes of it.
      new Promise((resolve) => resolve(domain.close())).catch(() => {})
    }
  }

  /** Opens those a reader means that others made, as long as there is room. */
  function openOthers(name: string): void {
    for (const other of listOthers())
      if ((name === other || name === ALL_DOMAINS) && domains.size < max) open(other, '')
  }

  open(DEFAULT_DOMAIN, '')
  return {
    select(name) {
      openOthers(name)
      if (name === ALL_DOMAINS) return [...domains.values()]
      const domain = domains.get(name)
      return domain === undefined ? [] : [domain]
    },

    open,

    watch(name, service, listener) {
      openOthers(name)
      const watcher: Watcher = { name, service, listener, stops: new Map() }
      watchers.add(watcher)
      for (const domain of domains.values()) attach(watcher, domain)
      return () => {
        watchers.delete(watcher)
        for (const stop of watcher.stops.values()) stop()
        watcher.stops.clear()
      }
    },

    async close() {
      await Promise.all([...domains.values()].map((domain) => domain.close()))
      domains.clear()
    },
  }
}

const NO_DOMAINS: ReadonlySet<string> = new Set()

function attach({ name, service, listener, stops }: Watcher, domain: Domain): void {
  if (name !== ALL_DOMAINS && name !== domain.name) return
  const hear = (event: RegistryEvent): void => listener(event, domain.name)
  const stop =
    service === undefined ? domain.watchAll?.(hear) : domain.registry.watch?.(hear, { service })
  if (stop !== undefined) stops.set(domain.name, stop)
}

function createDomain(name: string, registry: Registry): OpenDomain {
  const list = createSortedList(registry)
  const held = createRegistryUsage(registry, name)
  return {
    ...list,
    ...held,
    name,
    registry,
    watchAll: createWatchAll(registry),
    close() {
      list.close()
      held.close()
      return registry.close?.()
    },
  }
}

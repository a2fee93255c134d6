import type { Registry, RegistryEvent } from '../../core/contracts/registry.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import { createSortedList, type SortedList } from './sorted-list.ts'
import { createRegistryUsage, type RegistryUsage } from './usage.ts'
import { createWatchAll } from './watch-all.ts'

/** Selects all domains. */
export const ALL_DOMAINS = '*'

/** An isolated set of services. */
export interface Domain extends Omit<SortedList, 'close'>, Omit<RegistryUsage, 'close'> {
  readonly name: string
  readonly registry: Registry
  /** Watches all services. Absent if the registry does not support watches. */
  readonly watchAll: ReturnType<typeof createWatchAll>
}

/** Listener for changes in a domain. */
export type DomainListener = (event: RegistryEvent, domain: string) => void

/** Domains, each with its own registry. */
export interface Domains {
  /**
   * Returns the domains that a reader selects. Empty if no service has been registered, because
   * reading does not open domains.
   */
  readonly select: (name: string) => readonly Domain[]
  /**
   * Opens the domain with this name for a registration.
   *
   * @throws {GatewayError} 429 if there are too many domains.
   */
  readonly open: (name: string, id: string) => Domain
  /**
   * Calls `listener` for the selected domains, including domains opened later, until the returned
   * function is called.
   */
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
  /** Functions that stop listening, by domain name. */
  readonly stops: Map<string, () => void>
}

/**
 * Creates the domains, with the default domain open.
 *
 * @param listOthers returns domains with services registered by other servers that share the
 * registries.
 * @param max maximum number of domains. A domain without services is closed to make room for
 * another one.
 */
export function createDomains(
  createRegistry: (domain: string) => Registry,
  listOthers: () => ReadonlySet<string> = () => NO_DOMAINS,
  max = 64,
): Domains {
  const domains = new Map<string, OpenDomain>()
  const watchers = new Set<Watcher>()

  function open(name: string, id: string): OpenDomain {
    const existing = domains.get(name)
    if (existing !== undefined) return existing
    if (domains.size >= max) dropEmpty()
    if (domains.size >= max)
      throw tooManyRequests(id, `cannot create domain ${name}: limit of ${max} domains reached`)
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
      // A domain without services has no pending changes.
      new Promise((resolve) => resolve(domain.close())).catch(() => {})
    }
  }

  /** Opens the selected domains of other servers up to the maximum. */
  function openSelected(name: string): void {
    for (const other of listOthers())
      if ((name === other || name === ALL_DOMAINS) && domains.size < max) open(other, '')
  }

  open(DEFAULT_DOMAIN, '')
  return {
    select(name) {
      openSelected(name)
      if (name === ALL_DOMAINS) return [...domains.values()]
      const domain = domains.get(name)
      return domain === undefined ? [] : [domain]
    },

    open,

    watch(name, service, listener) {
      openSelected(name)
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
  const onEvent = (event: RegistryEvent): void => listener(event, domain.name)
  const stop =
    service === undefined
      ? domain.watchAll?.(onEvent)
      : domain.registry.watch?.(onEvent, { service })
  if (stop !== undefined) stops.set(domain.name, stop)
}

function createDomain(name: string, registry: Registry): OpenDomain {
  const list = createSortedList(registry)
  const usage = createRegistryUsage(registry, name)
  return {
    ...list,
    ...usage,
    name,
    registry,
    watchAll: createWatchAll(registry),
    close() {
      list.close()
      usage.close()
      return registry.close?.()
    },
  }
}

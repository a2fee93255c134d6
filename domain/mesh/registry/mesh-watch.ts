import type {
  Registry,
  RegistryEvent,
  Service,
  WatchOptions,
} from '../../../core/contracts/registry.ts'

/** Fallback of a registry: services of other servers, or expected services. */
export interface FallbackServices extends Required<Pick<Registry, 'watch'>> {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
}

export interface JoinedWatchOptions {
  readonly registry: Registry & Required<Pick<Registry, 'watch'>>
  readonly network: FallbackServices
  /** Returns whether a service is in the registry rather than in `network`. */
  readonly isLocal: (name: string) => boolean
}

/** Versions by service name. There are no empty sets. */
type Versions = Map<string, Set<string>>

/** Delay before an unavailable registry is retried. */
const RETRY_MS = 1000

/**
 * Watches a registry together with the network, like `Registry.watch`.
 *
 * When a service moves between the registry and the network, both watches report it, in either
 * order. If both contain the service, the registry is queried, so that the last event matches its
 * state.
 */
export function watchJoined(
  { registry, network, isLocal }: JoinedWatchOptions,
  listener: (event: RegistryEvent) => void,
  options: WatchOptions,
): () => void {
  /** Versions in the registry. */
  const localVersions: Versions = new Map()
  /** Versions from the network that the listener may know. */
  const published: Versions = new Map()
  /** Services with a query in flight. True if an event arrived during the query. */
  const querying = new Map<string, boolean>()
  let stopped = false

  function watchLocal(event: RegistryEvent): void {
    const { name } = event.service
    note(localVersions, event)
    listener(event)
    const isRemote = event.type === 'delete' && network.getService(name).length > 0
    if (published.has(name) || isRemote) void settle(name)
  }

  function watchNetwork(event: RegistryEvent): void {
    const { name } = event.service
    if (!localVersions.has(name) && !isLocal(name)) {
      note(published, event)
      listener(event)
      return
    }
    // The listener may already know this version, so its removal must be published later.
    note(published, { ...event, type: 'update' })
    void settle(name)
  }

  async function settle(name: string): Promise<void> {
    if (stopped) return
    if (querying.has(name)) {
      querying.set(name, true)
      return
    }
    let local: readonly Service[]
    do {
      querying.set(name, false)
      try {
        const result = registry.getService(name)
        local = result instanceof Promise ? await result : result
      } catch {
        querying.delete(name)
        setTimeout(settle, RETRY_MS, name).unref()
        return
      }
    } while (querying.get(name))
    querying.delete(name)
    if (!stopped) notify(name, local)
  }

  /** Publishes the versions of a service, and the removal of versions that no longer exist. */
  function notify(name: string, local: readonly Service[]): void {
    const services = choose(local, network.getService(name))
    const before = published.get(name) ?? new Set<string>()
    const isKnown = (version: string): boolean =>
      before.has(version) || localVersions.get(name)?.has(version) === true
    const now = new Set(services.map(({ version }) => version))
    if (services === local) published.delete(name)
    else published.set(name, now)
    for (const service of services)
      listener({ type: isKnown(service.version) ? 'update' : 'create', service })
    for (const version of before)
      if (!now.has(version)) {
        const service = { name, version, metadata: {}, endpoints: [], nodes: [] }
        listener({ type: 'delete', service })
      }
  }

  const stopLocal = registry.watch(watchLocal, options)
  const { service } = options
  const stopNetwork = network.watch(watchNetwork, service === undefined ? {} : { service })
  return () => {
    stopped = true
    stopLocal()
    stopNetwork()
  }
}

/**
 * Registered services take precedence over services of other servers, unless only the latter have
 * nodes.
 */
export function choose(local: readonly Service[], others: readonly Service[]): readonly Service[] {
  return others.length === 0 || local.some(({ nodes }) => nodes.length > 0) ? local : others
}

function note(versions: Versions, { type, service: { name, version } }: RegistryEvent): void {
  const known = versions.get(name) ?? new Set()
  if (type === 'delete') known.delete(version)
  else known.add(version)
  if (known.size === 0) versions.delete(name)
  else versions.set(name, known)
}

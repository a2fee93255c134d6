import type {
  Registry,
  RegistryEvent,
  Service,
  WatchOptions,
} from '../../../core/contracts/registry.ts'

/** Services that a registry falls back to: those of other servers, or those that are expected to register. */
export interface FallbackServices extends Required<Pick<Registry, 'watch'>> {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
}

export interface JoinedWatchOptions {
  readonly registry: Registry & Required<Pick<Registry, 'watch'>>
  readonly network: FallbackServices
  /** Whether the registry has a service, as far as `network` knows, which speaks of none of these. */
  readonly isOwn: (name: string) => boolean
}

/** Versions by the name of their service; no name without any. */
type Versions = Map<string, Set<string>>

/** After which a registry is asked again that did not answer. */
const RETRY_MS = 1000

/**
 * Watches a registry and the network beside it, as `Registry.watch`.
 *
 * Two watches tell that a service changes hands: this one of the registry, and, behind `network`, one of all its services. Either may be
 * ahead. Where both sides speak of a service the registry is asked, so that whoever listens ends with what it says.
 */
export function watchJoined(
  { registry, network, isOwn }: JoinedWatchOptions,
  listener: (event: RegistryEvent) => void,
  options: WatchOptions,
): () => void {
  /** What the registry has told of, and what of the network the listener may know. */
  const mine: Versions = new Map()
  const given: Versions = new Map()
  /** Services the registry is being asked about; true: something was told meanwhile. */
  const asking = new Map<string, boolean>()
  let stopped = false

  function hearOwn(event: RegistryEvent): void {
    const { name } = event.service
    note(mine, event)
    listener(event)
    const isOthers = event.type === 'delete' && network.getService(name).length > 0
    if (given.has(name) || isOthers) void settle(name)
  }

  function hearNetwork(event: RegistryEvent): void {
    const { name } = event.service
    if (!mine.has(name) && !isOwn(name)) {
      note(given, event)
      listener(event)
      return
    }
    // Whoever has asked in between may know it, and would not hear of its end.
    note(given, { ...event, type: 'update' })
    void settle(name)
  }

  async function settle(name: string): Promise<void> {
    if (stopped) return
    if (asking.has(name)) {
      asking.set(name, true)
      return
    }
    let own: readonly Service[]
    do {
      asking.set(name, false)
      try {
        const answer = registry.getService(name)
        own = answer instanceof Promise ? await answer : answer
      } catch {
        asking.delete(name)
        setTimeout(settle, RETRY_MS, name).unref()
        return
      }
    } while (asking.get(name))
    asking.delete(name)
    if (!stopped) tell(name, own)
  }

  /** Tells what there is of a service, and what is not there any more. */
  function tell(name: string, own: readonly Service[]): void {
    const services = choose(own, network.getService(name))
    const before = given.get(name) ?? new Set<string>()
    const isKnown = (version: string): boolean =>
      before.has(version) || mine.get(name)?.has(version) === true
    const now = new Set(services.map(({ version }) => version))
    if (services === own) given.delete(name)
    else given.set(name, now)
    for (const service of services)
      listener({ type: isKnown(service.version) ? 'update' : 'create', service })
    for (const version of before)
      if (!now.has(version)) {
        const service = { name, version, metadata: {}, endpoints: [], nodes: [] }
        listener({ type: 'delete', service })
      }
  }

  const stopOwn = registry.watch(hearOwn, options)
  const { service } = options
  const stopNetwork = network.watch(hearNetwork, service === undefined ? {} : { service })
  return () => {
    stopped = true
    stopOwn()
    stopNetwork()
  }
}

/** The registry's own services go before those of others, unless they are only known, not running, and the others' are there. */
export function choose(own: readonly Service[], others: readonly Service[]): readonly Service[] {
  return others.length === 0 || own.some(({ nodes }) => nodes.length > 0) ? own : others
}

function note(versions: Versions, { type, service: { name, version } }: RegistryEvent): void {
  const known = versions.get(name) ?? new Set()
  if (type === 'delete') known.delete(version)
  else known.add(version)
  if (known.size === 0) versions.delete(name)
  else versions.set(name, known)
}

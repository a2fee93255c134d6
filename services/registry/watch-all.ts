import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import { createWatchers } from '../../core/registry-watchers.ts'
import { isSameService } from '../../core/service-entry.ts'

type Listener = (event: RegistryEvent) => void

/** A service that is watched by itself. */
interface Followed {
  /** Those that have nodes, as told last. */
  readonly versions: Map<string, Service>
  readonly stop: () => void
}

/**
 * Watches all services of a registry, with their nodes: where it tells of them without (`Registry.watch`), each is watched
 * by itself, too, as long as anybody listens.
 *
 * @returns undefined where the registry cannot be watched.
 */
export function createWatchAll(
  registry: Registry,
): ((listener: Listener) => () => void) | undefined {
  if (registry.watch === undefined) return undefined
  const watchers = createWatchers()
  let stop = (): void => {}
  return (listener) => {
    const unwatch = watchers.watch(listener)
    if (watchers.size === 1) stop = follow(registry, watchers.emit)
    return () => {
      unwatch()
      if (watchers.size === 0) stop()
    }
  }
}

function follow(registry: Registry, emit: Listener): () => void {
  const watch = registry.watch!
  const followed = new Map<string, Followed>()
  let stopped = false

  function tell({ type, service }: RegistryEvent, versions: Map<string, Service>): void {
    const { version } = service
    const known = versions.get(version)
    if (type === 'delete') {
      if (versions.delete(version)) emit({ type, service })
      return
    }
    versions.set(version, service)
    if (known === undefined) emit({ type: 'create', service })
    else if (!isSameService(known, service)) emit({ type: 'update', service })
  }

  /** @param isNew nobody has been told of it. */
  async function begin(name: string, isNew: boolean): Promise<void> {
    if (stopped || followed.has(name)) return
    const versions = new Map<string, Service>()
    const hear = (event: RegistryEvent): void => tell(event, versions)
    // Whoever uses a service goes before those who only want to hear of it.
    const idleMs = (): number => Number.POSITIVE_INFINITY
    followed.set(name, { versions, stop: watch(hear, { service: name, idleMs }) })
    for (const service of await registry.getService(name)) {
      if (service.nodes.length === 0) continue
      if (isNew) tell({ type: 'create', service }, versions)
      else if (!versions.has(service.version)) versions.set(service.version, service)
    }
  }

  function end(name: string): void {
    followed.get(name)?.stop()
    followed.delete(name)
  }

  function tryBegin(name: string, isNew: boolean): void {
    // The registry is away, or takes no more watches: the next change tries again.
    begin(name, isNew).catch(() => end(name))
  }

  async function beginAll(): Promise<void> {
    for (const { name, nodes } of await registry.listServices())
      if (nodes.length === 0) tryBegin(name, false)
  }

  const stopAll = watch((event) => {
    const { type, service } = event
    const { name, nodes } = service
    const known = followed.get(name)
    if (known === undefined && (type === 'delete' || nodes.length > 0)) emit(event)
    else if (known === undefined) tryBegin(name, true)
    else if (type === 'delete') {
      tell(event, known.versions)
      if (known.versions.size === 0) end(name)
    }
  })
  beginAll().catch(() => {})
  return () => {
    stopped = true
    stopAll()
    for (const name of [...followed.keys()]) end(name)
  }
}

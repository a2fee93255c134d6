import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import { createRegistryWatchers } from '../../core/registry/event-hub.ts'
import { isSameService } from '../../core/registry/service.ts'

type Listener = (event: RegistryEvent) => void

/** An individually watched service. */
interface Followed {
  /** Versions of the service with nodes, as last published. */
  readonly versions: Map<string, Service>
  readonly stop: () => void
}

/**
 * State known to listeners of a newly watched service: the state that they have read, none, or a possibly outdated one.
 */
type Start = 'read' | 'new' | 'missed'

/** Delay before retrying a registry that is unavailable or has no capacity for watches. */
const RETRY_MS = 5000

/**
 * Watches all services of a registry with their nodes. If the registry's events contain no nodes
 * (`Registry.watch`), each service is also watched individually while there are listeners.
 *
 * @returns undefined if the registry does not support watches.
 */
export function createWatchAll(
  registry: Registry,
  retryMs: number = RETRY_MS,
): ((listener: Listener) => () => void) | undefined {
  if (registry.watch === undefined) return undefined
  const watchers = createRegistryWatchers()
  let stop = (): void => {}
  return (listener) => {
    const unwatch = watchers.watch(listener)
    if (watchers.size === 1) stop = follow(registry, watchers.emit, retryMs)
    return () => {
      unwatch()
      if (watchers.size === 0) stop()
    }
  }
}

function follow(registry: Registry, emit: Listener, retryMs: number): () => void {
  const watch = registry.watch!
  const followed = new Map<string, Followed>()
  /** Services that have not been published because they could not be watched yet. */
  const unannounced = new Set<string>()
  let retry: NodeJS.Timeout | undefined
  let stopped = false

  function notify({ type, service }: RegistryEvent, versions: Map<string, Service>): void {
    const { version } = service
    const previous = versions.get(version)
    if (type === 'delete') {
      if (versions.delete(version)) emit({ type, service })
      return
    }
    versions.set(version, service)
    if (previous === undefined) emit({ type: 'create', service })
    else if (!isSameService(previous, service)) emit({ type: 'update', service })
  }

  async function begin(name: string, start: Start): Promise<void> {
    if (stopped || followed.has(name)) return
    const versions = new Map<string, Service>()
    const onEvent = (event: RegistryEvent): void => notify(event, versions)
    // Watches for callers of a service take precedence over watches for listeners.
    const idleMs = (): number => Number.POSITIVE_INFINITY
    followed.set(name, { versions, stop: watch(onEvent, { service: name, idleMs }) })
    for (const service of await registry.getService(name)) {
      const isKnown = versions.has(service.version)
      const isRunning = service.nodes.length > 0
      if (start === 'new' && isRunning) notify({ type: 'create', service }, versions)
      if (start === 'new' || isKnown) continue
      if (isRunning) versions.set(service.version, service)
      if (start === 'missed') emit({ type: isRunning ? 'update' : 'delete', service })
    }
    unannounced.delete(name)
  }

  function end(name: string): void {
    followed.get(name)?.stop()
    followed.delete(name)
  }

  function tryBegin(name: string, start: Start): void {
    begin(name, start).catch(() => {
      end(name)
      if (start === 'new') unannounced.add(name)
      queryAgain()
    })
  }

  async function beginAll(start: Start): Promise<void> {
    for (const { name, nodes } of await registry.listServices())
      if (nodes.length === 0) tryBegin(name, unannounced.has(name) ? 'new' : start)
  }

  function queryAgain(): void {
    if (stopped) return
    retry ??= setTimeout(() => {
      retry = undefined
      beginAll('missed').catch(queryAgain)
    }, retryMs).unref()
  }

  const stopAll = watch((event) => {
    const { type, service } = event
    const { name, nodes } = service
    const existing = followed.get(name)
    if (existing === undefined && (type === 'delete' || nodes.length > 0)) emit(event)
    else if (existing === undefined) tryBegin(name, 'new')
    else if (type === 'delete') {
      notify(event, existing.versions)
      if (existing.versions.size === 0) end(name)
    }
  })
  beginAll('read').catch(queryAgain)
  return () => {
    stopped = true
    clearTimeout(retry)
    stopAll()
    for (const name of [...followed.keys()]) end(name)
  }
}

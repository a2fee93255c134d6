import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import { Outages } from '../../core/registry/outage-tracker.ts'
import { isSameMap } from '../../core/registry/service.ts'
import { StaleNodes } from '../../core/registry/stale-nodes.ts'
import type { ResolverOptions } from '../../core/route.ts'
import { withTimeout } from '../../lib/async/with-timeout.ts'
import { type Declared, type EndpointRoute, readDeclared } from './declared.ts'

export interface CatalogOptions {
  readonly registry: Registry
  /** How often services are listed again: where the registry has no `watch`, and until it has answered once; milliseconds. @default 5000 */
  readonly listMs?: number
  /** Milliseconds the registry may take to answer. @default 5000 */
  readonly timeoutMs?: number
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
  /** Told when other routes are declared than before. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** As {@link ResolverOptions.onServices}. */
  readonly onServices?: ResolverOptions['onServices']
}

/**
 * The routes all services declare, kept up to date, and kept as they are while the registry is away; those of versions that
 * go missing meanwhile stay for 95 s.
 */
export interface Catalog {
  /** Settled once the registry answered or failed to. Undefined: it answered at once. */
  readonly ready: Promise<void> | undefined
  /** By service, version and endpoint. */
  readonly listRoutes: () => EndpointRoute[]
  /** Lets go of what was held long enough, and lists the services again where that is needed. Runs by itself. */
  readonly sweep: () => void
  readonly close: () => void
}

/** A version of a service, read. */
interface Entry {
  readonly endpoints: Service['endpoints']
  /** Asked for by the service itself. */
  readonly handler: string | undefined
  readonly routes: Declared['routes']
}

/** Most problems told about one version of a service. */
const MAX_TOLD = 10
/** Name of the one watch there is. */
const ALL = '*'

export function createCatalog({
  registry,
  listMs = 5000,
  timeoutMs = 5000,
  nowMs = () => performance.now(),
  onChange,
  onWarning,
  onServices,
}: CatalogOptions): Catalog {
  /** By name and version. */
  const entries = new Map<string, Entry>()
  /** Keys of entries the registry does not tell any more. */
  const held = new StaleNodes<string>(nowMs)
  const outages = new Outages({ nowMs })
  /** What was told while the list is awaited; undefined: none is. */
  let told: RegistryEvent[] | undefined
  let listed = false
  let failing = false
  let closed = false
  const unwatch = registry.watch?.(
    (event) => {
      if (event.type === 'create') onServices?.([event.service])
      if (told !== undefined) told.push(event)
      else if (hear(event)) onChange()
    },
    { onOutage: (reason) => outages.tell(ALL, reason) },
  )
  const sweeper = setInterval(sweep, listMs).unref()

  /** @returns whether other routes are declared than before. */
  function hear({ type, service }: RegistryEvent): boolean {
    const key = keyOf(service)
    if (type === 'delete') return remove(key)
    held.release(key)
    const old = entries.get(key)
    if (old !== undefined && isSame(old, service)) return false
    const entry = readEntry(service)
    entries.set(key, entry)
    return entry.routes.length + (old?.routes.length ?? 0) > 0
  }

  function remove(key: string): boolean {
    if (!entries.has(key)) return false
    if (outages.isAway(ALL)) {
      held.add(key, key)
      return false
    }
    held.release(key)
    return drop(key)
  }

  function drop(key: string): boolean {
    const old = entries.get(key)
    entries.delete(key)
    return old !== undefined && old.routes.length > 0
  }

  function readEntry(service: Service): Entry {
    const { routes, problems } = readDeclared(service)
    for (const problem of problems.slice(0, MAX_TOLD)) onWarning(problem)
    const more = problems.length - MAX_TOLD
    if (more > 0) onWarning(`service ${service.name}: ${more} more problems with its endpoints`)
    return { endpoints: service.endpoints, handler: service.metadata['handler'], routes }
  }

  function arrive(services: readonly Service[]): void {
    failing = false
    listed = true
    onServices?.(services)
    const keys = new Set(services.map(keyOf))
    let changed = false
    for (const key of [...entries.keys()]) if (!keys.has(key)) changed = remove(key) || changed
    for (const service of services) changed = hear({ type: 'update', service }) || changed
    if (unwatch === undefined) outages.tell(ALL, undefined)
    // In order: the last one is at least as new as the list.
    if (hearTold() || changed) onChange()
  }

  function fail(reason: Error): void {
    if (unwatch === undefined) outages.tell(ALL, reason)
    if (hearTold()) onChange()
    // An outage is told by whoever looks services up.
    if (failing || (unwatch !== undefined && outages.current !== undefined)) return
    failing = true
    onWarning(`cannot list services, declared endpoints stay as they were: ${reason.message}`)
  }

  function hearTold(): boolean {
    let changed = false
    for (const event of told ?? []) changed = hear(event) || changed
    told = undefined
    return changed
  }

  function sweep(): void {
    let changed = false
    for (const key of held.expire()) changed = drop(key) || changed
    if (changed) onChange()
    // Once it has answered, a registry that can be watched tells.
    if (!listed || unwatch === undefined) void list()
  }

  function list(): Promise<void> | undefined {
    if (told !== undefined) return undefined
    told = []
    let answer: ReturnType<Registry['listServices']>
    try {
      answer = registry.listServices()
    } catch (error) {
      fail(toError(error))
      return undefined
    }
    if (!(answer instanceof Promise)) {
      arrive(answer)
      return undefined
    }
    return withTimeout(answer, timeoutMs).then(
      (services) => {
        if (!closed) arrive(services)
      },
      (error: unknown) => {
        if (!closed) fail(toError(error))
      },
    )
  }

  const ready = list()

  return {
    ready,

    listRoutes() {
      const routes: EndpointRoute[] = []
      for (const key of [...entries.keys()].sort()) {
        // Not by spreading: there may be more than arguments a call takes.
        for (const route of entries.get(key)!.routes) routes.push(route)
      }
      return routes
    },

    sweep,

    close() {
      closed = true
      clearInterval(sweeper)
      unwatch?.()
    },
  }
}

/** Whether a version says the same about its endpoints and handler, as far as routes are made of it. */
function isSame({ endpoints, handler }: Entry, service: Service): boolean {
  if (handler !== service.metadata['handler']) return false
  return (
    endpoints === service.endpoints ||
    (endpoints.length === service.endpoints.length &&
      endpoints.every(({ name, metadata }, i) => {
        const other = service.endpoints[i]!
        return name === other.name && isSameMap(metadata, other.metadata)
      }))
  )
}

/** Neither a name nor a version has a blank, which sorts before all they have. */
function keyOf({ name, version }: Service): string {
  return `${name} ${version}`
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

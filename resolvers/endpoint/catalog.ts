import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import { Outages } from '../../core/registry/outage-tracker.ts'
import { isSameMap } from '../../core/registry/service.ts'
import { StaleNodes } from '../../core/registry/stale-nodes.ts'
import type { ResolverOptions } from '../../core/route.ts'
import { withTimeout } from '../../lib/async/timeout.ts'
import { type Declared, type EndpointRoute, readDeclared } from './declared.ts'

export interface CatalogOptions {
  readonly registry: Registry
  /**
   * Interval for listing services in milliseconds, used while the registry has no `watch` or has not responded yet.
   * @default 5000
   */
  readonly listMs?: number
  /** Timeout of a list request in milliseconds. @default 5000 */
  readonly timeoutMs?: number
  /** Monotonic clock. @default performance.now */
  readonly nowMs?: () => number
  /** Called when the declared routes change. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
  /** See {@link ResolverOptions.onServices}. */
  readonly onServices?: ResolverOptions['onServices']
}

/**
 * Declared routes of all services. During a registry outage they stay unchanged, and routes of versions that disappear
 * are retained for 95 s.
 */
export interface Catalog {
  /** Resolves after the first list request; undefined if it completed synchronously. */
  readonly ready: Promise<void> | undefined
  /** Routes sorted by service, version and endpoint. */
  readonly listRoutes: () => EndpointRoute[]
  /** Drops expired entries, and lists the services again if required. Called by a timer. */
  readonly sweep: () => void
  readonly close: () => void
}

/** A parsed service version. */
interface Entry {
  readonly endpoints: Service['endpoints']
  /** Handler in the service metadata. */
  readonly handler: string | undefined
  readonly routes: Declared['routes']
}

/** Maximum number of warnings per service version. */
const MAX_WARNINGS = 10
/** Key of the only watch. */
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
  /** Entries by name and version. */
  const entries = new Map<string, Entry>()
  /** Keys of entries that disappeared during an outage. */
  const stale = new StaleNodes<string>(nowMs)
  const outages = new Outages({ nowMs })
  /** Watch events received while a list request is in flight; undefined without a request. */
  let pending: RegistryEvent[] | undefined
  let listed = false
  let failing = false
  let closed = false
  const unwatch = registry.watch?.(
    (event) => {
      if (event.type === 'create') onServices?.([event.service])
      if (pending !== undefined) pending.push(event)
      else if (apply(event)) onChange()
    },
    { onOutage: (reason) => outages.report(ALL, reason) },
  )
  const sweeper = setInterval(sweep, listMs).unref()

  /** @returns whether the declared routes changed. */
  function apply({ type, service }: RegistryEvent): boolean {
    const key = keyOf(service)
    if (type === 'delete') return remove(key)
    stale.release(key)
    const old = entries.get(key)
    if (old !== undefined && isSame(old, service)) return false
    const entry = readEntry(service)
    entries.set(key, entry)
    return entry.routes.length + (old?.routes.length ?? 0) > 0
  }

  function remove(key: string): boolean {
    if (!entries.has(key)) return false
    if (outages.isUnavailable(ALL)) {
      stale.add(key, key)
      return false
    }
    stale.release(key)
    return drop(key)
  }

  function drop(key: string): boolean {
    const old = entries.get(key)
    entries.delete(key)
    return old !== undefined && old.routes.length > 0
  }

  function readEntry(service: Service): Entry {
    const { routes, problems } = readDeclared(service)
    for (const problem of problems.slice(0, MAX_WARNINGS)) onWarning(problem)
    const more = problems.length - MAX_WARNINGS
    if (more > 0) onWarning(`service ${service.name}: ${more} more endpoint problems`)
    return { endpoints: service.endpoints, handler: service.metadata['handler'], routes }
  }

  function applyList(services: readonly Service[]): void {
    failing = false
    listed = true
    onServices?.(services)
    const keys = new Set(services.map(keyOf))
    let changed = false
    for (const key of [...entries.keys()]) if (!keys.has(key)) changed = remove(key) || changed
    for (const service of services) changed = apply({ type: 'update', service }) || changed
    if (unwatch === undefined) outages.report(ALL, undefined)
    // Applied in this order, because pending events are at least as new as the list.
    if (applyPending() || changed) onChange()
  }

  function fail(reason: Error): void {
    if (unwatch === undefined) outages.report(ALL, reason)
    if (applyPending()) onChange()
    // Outages are reported by the service cache.
    if (failing || (unwatch !== undefined && outages.current !== undefined)) return
    failing = true
    onWarning(`cannot list services, keeping the declared routes: ${reason.message}`)
  }

  function applyPending(): boolean {
    let changed = false
    for (const event of pending ?? []) changed = apply(event) || changed
    pending = undefined
    return changed
  }

  function sweep(): void {
    let changed = false
    for (const key of stale.expire()) changed = drop(key) || changed
    if (changed) onChange()
    // After the first list, a registry with `watch` sends updates.
    if (!listed || unwatch === undefined) void list()
  }

  function list(): Promise<void> | undefined {
    if (pending !== undefined) return undefined
    pending = []
    let services: ReturnType<Registry['listServices']>
    try {
      services = registry.listServices()
    } catch (error) {
      fail(toError(error))
      return undefined
    }
    if (!(services instanceof Promise)) {
      applyList(services)
      return undefined
    }
    return withTimeout(services, timeoutMs).then(
      (listed) => {
        if (!closed) applyList(listed)
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
        // Not spread, since the number of routes may exceed the limit of arguments.
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

/** Whether an update leaves endpoints and handler unchanged. */
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

/** Returns the key of an entry. Names and versions contain no space, which sorts before all their characters. */
function keyOf({ name, version }: Service): string {
  return `${name} ${version}`
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

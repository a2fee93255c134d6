import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'
import { inTime } from '../../core/in-time.ts'
import { isSameMap } from '../../core/service-entry.ts'
import { type Declared, type EndpointRoute, readDeclared } from './declared.ts'

export interface CatalogOptions {
  readonly registry: Registry
  /** How often services are listed again: where the registry has no `watch`, and until it has answered once; milliseconds. @default 5000 */
  readonly listMs?: number
  /** Milliseconds the registry may take to answer. @default 5000 */
  readonly timeoutMs?: number
  /** Told when other routes are declared than before. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/** The routes all services declare, kept up to date. */
export interface Catalog {
  /** Settled once the registry answered or failed to. Undefined: it answered at once. */
  readonly ready: Promise<void> | undefined
  /** By service, version and endpoint. */
  readonly listRoutes: () => EndpointRoute[]
  readonly close: () => void
}

/** A version of a service, read. */
interface Entry {
  readonly endpoints: Service['endpoints']
  readonly routes: Declared['routes']
}

/** Most problems told about one version of a service. */
const MAX_TOLD = 10

export function createCatalog({
  registry,
  listMs = 5000,
  timeoutMs = 5000,
  onChange,
  onWarning,
}: CatalogOptions): Catalog {
  /** Name, then version. */
  let entries = new Map<string, Map<string, Entry>>()
  /** What was told while the list is awaited; undefined: none is. */
  let told: RegistryEvent[] | undefined
  let failing = false
  let closed = false
  const unwatch = registry.watch?.((event) => {
    if (told === undefined) hear(event)
    else told.push(event)
  })
  const lister = setInterval(list, listMs).unref()

  function hear({ type, service }: RegistryEvent): void {
    const versions = entries.get(service.name)
    const old = versions?.get(service.version)
    if (type !== 'delete') {
      const entry = old !== undefined && isSame(old, service) ? old : readEntry(service)
      if (entry === old) return
      if (versions === undefined) entries.set(service.name, new Map([[service.version, entry]]))
      else versions.set(service.version, entry)
      if (entry.routes.length + (old?.routes.length ?? 0) > 0) onChange()
    } else if (old !== undefined) {
      versions!.delete(service.version)
      if (versions!.size === 0) entries.delete(service.name)
      if (old.routes.length > 0) onChange()
    }
  }

  function readEntry(service: Service): Entry {
    const { routes, problems } = readDeclared(service)
    for (const problem of problems.slice(0, MAX_TOLD)) onWarning(problem)
    const more = problems.length - MAX_TOLD
    if (more > 0) onWarning(`service ${service.name}: ${more} more problems with its endpoints`)
    return { endpoints: service.endpoints, routes }
  }

  /** Takes over a whole list. */
  function replace(services: readonly Service[]): void {
    const old = entries
    entries = new Map()
    for (const service of services) {
      const known = old.get(service.name)?.get(service.version)
      const entry = known !== undefined && isSame(known, service) ? known : readEntry(service)
      const versions = entries.get(service.name) ?? new Map<string, Entry>()
      entries.set(service.name, versions.set(service.version, entry))
    }
    if (!isSameEntries(old, entries)) onChange()
  }

  function arrive(services: readonly Service[]): void {
    failing = false
    // From now on the registry tells.
    if (unwatch !== undefined) clearInterval(lister)
    const events = told ?? []
    told = undefined
    replace(services)
    // In order: the last one is at least as new as the list.
    for (const event of events) hear(event)
  }

  function fail(error: unknown): void {
    const events = told ?? []
    told = undefined
    for (const event of events) hear(event)
    if (failing) return
    failing = true
    const reason = error instanceof Error ? error.message : String(error)
    onWarning(`cannot list services, declared endpoints stay as they were: ${reason}`)
  }

  function list(): Promise<void> | undefined {
    if (told !== undefined) return undefined
    told = []
    let answer: ReturnType<Registry['listServices']>
    try {
      answer = registry.listServices()
    } catch (error) {
      fail(error)
      return undefined
    }
    if (!(answer instanceof Promise)) {
      arrive(answer)
      return undefined
    }
    return inTime(answer, timeoutMs).then(
      (services) => {
        if (!closed) arrive(services)
      },
      (error: unknown) => {
        if (!closed) fail(error)
      },
    )
  }

  const ready = list()

  return {
    ready,

    listRoutes() {
      const routes: EndpointRoute[] = []
      for (const name of [...entries.keys()].sort()) {
        const versions = entries.get(name)!
        for (const version of [...versions.keys()].sort()) {
          // Not by spreading: there may be more than arguments a call takes.
          for (const route of versions.get(version)!.routes) routes.push(route)
        }
      }
      return routes
    },

    close() {
      closed = true
      clearInterval(lister)
      unwatch?.()
    },
  }
}

/** Whether a version says the same about its endpoints, as far as routes are made of it. */
function isSame({ endpoints }: Entry, service: Service): boolean {
  return (
    endpoints === service.endpoints ||
    (endpoints.length === service.endpoints.length &&
      endpoints.every(({ name, metadata }, i) => {
        const other = service.endpoints[i]!
        return name === other.name && isSameMap(metadata, other.metadata)
      }))
  )
}

function isSameEntries(
  a: ReadonlyMap<string, ReadonlyMap<string, Entry>>,
  b: ReadonlyMap<string, ReadonlyMap<string, Entry>>,
): boolean {
  if (a.size !== b.size) return false
  for (const [name, versions] of a) {
    const others = b.get(name)
    if (others?.size !== versions.size) return false
    for (const [version, entry] of versions) if (others.get(version) !== entry) return false
  }
  return true
}

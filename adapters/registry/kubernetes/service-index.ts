import type { RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { diffServices } from '../../../core/registry/diff.ts'
import type { Change } from '../../kubernetes/list-watch.ts'
import type { KubernetesService, Slice } from './objects.ts'
import { findWarning, toService } from './to-service.ts'

export interface ServiceIndexOptions {
  /** Called only with changes to listed versions. */
  readonly onEvent: (event: RegistryEvent) => void
  /** Called once for each Service that is ignored or only partly supported. */
  readonly onProblem: (message: string) => void
}

/** A Service, or undefined if it has no routes. */
export type Services = KubernetesService | undefined

/** Services of the namespace. */
export interface ServiceIndex {
  /** Includes versions without a ready endpoint, which have no nodes. */
  readonly getService: (name: string) => readonly Service[]
  /**
   * Returns versions that have nodes, or slices but no ready endpoint. The latter keep their routes
   * and return 503.
   */
  readonly listServices: () => Service[]
  readonly replaceServices: (items: ReadonlyMap<string, Services>) => void
  readonly changeServices: (changes: readonly Change<Services>[]) => void
  readonly replaceSlices: (items: ReadonlyMap<string, Slice>) => void
  readonly changeSlices: (changes: readonly Change<Slice>[]) => void
}

/**
 * Creates an index that stays empty until both Services and slices are loaded, because either alone
 * would be incorrect.
 */
export function createServiceIndex({ onEvent, onProblem }: ServiceIndexOptions): ServiceIndex {
  let services: Map<string, Services> | undefined
  let slices: Map<string, Slice> | undefined
  /** Slice names by Service name. */
  const slicesOf = new Map<string, Set<string>>()
  /**
   * Versions by mx service name, then by Kubernetes Service name. Several Services may be versions
   * of one service.
   */
  const parts = new Map<string, Map<string, Service>>()
  /** Key in `parts` by Kubernetes Service name. */
  const nameOf = new Map<string, string>()
  const versions = new Map<string, readonly Service[]>()
  const problems = new Map<string, string>()
  /** Services that have slices but no ready endpoint. */
  const idle = new WeakSet<Service>()

  const isListed = (service: Service): boolean => isRunning(service) || idle.has(service)

  function setSlice(name: string, slice: Slice | undefined, dirty: Set<string>): void {
    const old = slices!.get(name)
    if (old !== undefined) {
      const names = slicesOf.get(old.service)!
      names.delete(name)
      if (names.size === 0) slicesOf.delete(old.service)
      slices!.delete(name)
      dirty.add(old.service)
    }
    if (slice === undefined) return
    slices!.set(name, slice)
    slicesOf.set(slice.service, (slicesOf.get(slice.service) ?? new Set()).add(name))
    dirty.add(slice.service)
  }

  /** Returns undefined for a Service that has no routes or is invalid. */
  function read(name: string): Service | undefined {
    const from = services!.get(name)
    let problem: string | undefined
    const report = (message: string): void => {
      problem = message
      if (problem !== problems.get(name)) onProblem(problem)
    }
    try {
      if (from === undefined) return undefined
      const names = [...(slicesOf.get(name) ?? [])]
      const service = toService(
        from,
        names.map((slice) => slices!.get(slice)!),
      )
      if (names.length > 0 && !isRunning(service)) idle.add(service)
      const warning = findWarning(from)
      if (warning !== undefined) report(`Kubernetes service ${name}: ${warning}`)
      return service
    } catch (error) {
      report(`Kubernetes service ${name} is ignored: ${(error as Error).message}`)
      return undefined
    } finally {
      if (problem === undefined) problems.delete(name)
      else problems.set(name, problem)
    }
  }

  /** Rereads the named Services and emits their changes. */
  function update(dirty: Iterable<string>): void {
    if (services === undefined || slices === undefined) return
    const touched = new Set<string>()
    for (const name of dirty) {
      const old = nameOf.get(name)
      const service = read(name)
      if (old !== undefined) {
        touched.add(old)
        parts.get(old)!.delete(name)
        nameOf.delete(name)
      }
      if (service === undefined) continue
      touched.add(service.name)
      nameOf.set(name, service.name)
      parts.set(service.name, (parts.get(service.name) ?? new Map()).set(name, service))
    }
    const events: RegistryEvent[] = []
    for (const name of touched) {
      const before = versions.get(name) ?? []
      const after = merge(parts.get(name)!, isListed)
      if (after.length > 0) versions.set(name, after)
      else {
        versions.delete(name)
        parts.delete(name)
      }
      events.push(...diffServices(before.filter(isListed), after.filter(isListed)))
    }
    // Listeners may query the index, so it is completed before the first event.
    for (const event of events) onEvent(event)
  }

  return {
    getService: (name) => versions.get(name) ?? [],
    listServices: () => [...versions.values()].flat().filter(isListed),

    replaceServices(items) {
      const old = services ?? new Map<string, Services>()
      services = new Map(items)
      const names = new Set([...old.keys(), ...items.keys()])
      update([...names].filter((name) => isNew(old.get(name), items.get(name))))
    },

    changeServices(changes) {
      const dirty = new Set<string>()
      for (const { name, item } of changes) {
        if (item === undefined) services!.delete(name)
        else services!.set(name, item)
        dirty.add(name)
      }
      update(dirty)
    },

    replaceSlices(items) {
      const dirty = new Set(slices === undefined ? services?.keys() : [])
      slices ??= new Map()
      for (const name of [...slices.keys()]) if (!items.has(name)) setSlice(name, undefined, dirty)
      for (const [name, slice] of items)
        if (isNew(slices.get(name), slice)) setSlice(name, slice, dirty)
      update(dirty)
    },

    changeSlices(changes) {
      const dirty = new Set<string>()
      for (const { name, item } of changes) setSlice(name, item, dirty)
      update(dirty)
    },
  }
}

function isRunning({ nodes }: Service): boolean {
  return nodes.length > 0
}

/** Returns whether an object has changed since the last event. A list contains all objects. */
function isNew(
  old: { revision: string } | undefined,
  item: { revision: string } | undefined,
): boolean {
  return old?.revision !== item?.revision || item?.revision === ''
}

/**
 * Merges the nodes of each version. The description comes from the first Service, by name, that has
 * nodes.
 */
function merge(
  parts: ReadonlyMap<string, Service>,
  isListed: (service: Service) => boolean,
): Service[] {
  const merged = new Map<string, Service>()
  const sorted = [...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, service]) => service)
  const rank = (part: Service): number => (isRunning(part) ? 0 : isListed(part) ? 1 : 2)
  for (const service of sorted.sort((a, b) => rank(a) - rank(b))) {
    const existing = merged.get(service.version)
    if (existing === undefined) {
      merged.set(service.version, service)
      continue
    }
    const ids = new Set(existing.nodes.map(({ id }) => id))
    const others = service.nodes.filter(({ id }) => !ids.has(id))
    if (others.length > 0)
      merged.set(service.version, { ...existing, nodes: [...existing.nodes, ...others] })
  }
  return [...merged.values()]
}

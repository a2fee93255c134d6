import type { Registry } from '../../core/contracts/registry.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import type { LocalService } from '../client/call-options.ts'
import { findInternals } from './internals.ts'

/** Running services of this process by registry, in order of their start. */
const running = new WeakMap<Registry, Set<LocalService>>()
/** Callers by unique node id, for nodes in this process and linked servers. */
const nodes = new Map<string, Caller>()

/** Internals of a service. @throws {TypeError} for a service in another process. */
export function toLocalService(service: object): LocalService {
  const local = findInternals(service)?.local
  if (local === undefined) throw new TypeError('services must be services of this process')
  return local
}

/** Makes a service callable without sockets for clients with the same registry. Returns a function that undoes it. */
export function addLocalService(registry: Registry, service: LocalService): () => void {
  let services = running.get(registry)
  if (services === undefined) {
    services = new Set()
    running.set(registry, services)
  }
  services.add(service)
  return () => void services.delete(service)
}

/** Finds a service in this process by registry and name. */
export function findLocalService(registry: Registry, name: string): LocalService | undefined {
  const services = running.get(registry)
  if (services === undefined) return undefined
  for (const service of services) if (service.name === name) return service
  return undefined
}

/**
 * Registers a caller for a node: without sockets, or over an existing connection. Returns a function that removes it.
 */
export function addLocalNode(id: string, caller: Caller): () => void {
  nodes.set(id, caller)
  return () => void nodes.delete(id)
}

/** Caller for a node that needs no new connection (`UpstreamOptions.findCaller`). */
export function findLocalCaller({ id }: { readonly id: string }): Caller | undefined {
  return nodes.get(id)
}

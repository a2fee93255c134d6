import type { Registry } from '../../core/contracts/registry.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import type { LocalService } from '../client/call-options.ts'
import { findInternals } from './internals.ts'

/** The services of this process that run, by the registry they are in, in the order they began. */
const running = new WeakMap<Registry, Set<LocalService>>()
/** Callers of nodes by the ids they are registered with, which are nobody else's: of those of this process, and of linked servers. */
const nodes = new Map<string, Caller>()

/** @throws {TypeError} when it is no service of this process. */
export function toLocalService(service: object): LocalService {
  const local = findInternals(service)?.local
  if (local === undefined) throw new TypeError('services must be services of this process')
  return local
}

/** Lets clients with the same registry call a service without sockets. Returns what ends that. */
export function addLocalService(registry: Registry, service: LocalService): () => void {
  let services = running.get(registry)
  if (services === undefined) {
    services = new Set()
    running.set(registry, services)
  }
  services.add(service)
  return () => void services.delete(service)
}

/** A service of this process in that registry. */
export function findLocalService(registry: Registry, name: string): LocalService | undefined {
  const services = running.get(registry)
  if (services === undefined) return undefined
  for (const service of services) if (service.name === name) return service
  return undefined
}

/** Lets whoever finds a node in a registry call it by this caller: without sockets, or over a connection that is there. Returns what ends that. */
export function addLocalNode(id: string, caller: Caller): () => void {
  nodes.set(id, caller)
  return () => void nodes.delete(id)
}

/** How a node is called that needs no connection of its own: `UpstreamOptions.findCaller`. */
export function findLocalCaller({ id }: { readonly id: string }): Caller | undefined {
  return nodes.get(id)
}

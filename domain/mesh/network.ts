import type { Node, Registry } from '../../core/contracts/registry.ts'
import { MAX_ENTRY_BYTES } from './limits.ts'
import { isServerId } from './names.ts'
import { formatVersions, isCallable } from './registry/entry.ts'
import { createLocalServices, type LocalServicesOptions } from './registry/local-services.ts'
import { createJoinedRegistry } from './registry/mesh-registry.ts'
import { createRouteRegistry, type RouteRegistry } from './registry/route-registry.ts'
import { createRouteTable, type RouteTable } from './routing-table.ts'

export interface NetworkOptions {
  /** Of this server, the same whenever it is started: 1 to 100 letters, digits, and inner dots, dashes or underscores. */
  readonly id: string
  /** Holds the services of this server. Its owner closes it. */
  readonly registry: Registry
  /** The registry could not be read, and peers are told nothing new; it is asked again. */
  readonly onError?: (error: Error) => void
  /** The description of a service is too long for peers: they are not told of it. */
  readonly onTooLong?: (name: string) => void
}

/** What this server and others have, and how calls get there. It knows of others what the service `network` hears (`services/network`). */
export interface Network {
  readonly id: string
  /** The registry, and services of other servers at the peers that calls of them may go to. */
  readonly registry: Registry
  readonly table: RouteTable
  /** The services of other servers. */
  readonly routes: Pick<RouteRegistry, 'listKnown' | 'restore' | 'watch'>
  /** How peers are called, by id. Of the network service. */
  readonly nodes: Map<string, Node>
  /** Calls `listener` with every destination that changes. Of the network service. */
  readonly listen: (listener: (key: string) => void) => void
  /** Begins to read the registry. Resolves once it was asked, whatever it said. */
  readonly start: () => Promise<void>
  readonly close: () => void
}

const nobody = (): void => {}

/**
 * Makes the network of a server, which is alone as yet.
 *
 * @throws {TypeError} for an id that is none, and a registry that cannot be watched.
 */
export function createNetwork(options: NetworkOptions): Network {
  const { id, registry, onError = nobody, onTooLong = nobody } = options
  const { watch } = registry
  if (!isServerId(id))
    throw new TypeError(
      `id must be 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${JSON.stringify(id)}`,
    )
  if (watch === undefined) throw new TypeError(`the registry ${registry.name} cannot be watched`)
  const watchable = { ...registry, watch }
  const nodes = new Map<string, Node>()
  let tell: (key: string) => void = nobody
  const table = createRouteTable({
    id,
    onChange(key) {
      routes.changed(key)
      tell(key)
    },
  })

  const onChange: LocalServicesOptions['onChange'] = (name, versions) => {
    if (versions.length === 0) return table.setOwn(name, undefined)
    const entry = isCallable(versions) ? formatVersions(versions) : null
    const isTooLong = entry !== null && Buffer.byteLength(entry) > MAX_ENTRY_BYTES
    if (isTooLong) onTooLong(name)
    table.setOwn(name, isTooLong ? null : entry)
  }
  const local = createLocalServices({ registry: watchable, onChange, onError })
  const routes: RouteRegistry = createRouteRegistry({
    table,
    findNode: (peer) => nodes.get(peer),
  })

  return {
    id,
    registry: createJoinedRegistry(watchable, routes, local.has),
    table,
    routes,
    nodes,
    listen(listener) {
      tell = listener
    },
    start: local.start,
    close() {
      local.close()
      routes.close()
    },
  }
}

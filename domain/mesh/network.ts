import type { Node, Registry } from '../../core/contracts/registry.ts'
import { MAX_ENTRY_BYTES } from './limits.ts'
import { isServerId } from './names.ts'
import { formatVersions, isCallable } from './registry/entry.ts'
import { createLocalServices, type LocalServicesOptions } from './registry/local-services.ts'
import { createJoinedRegistry } from './registry/mesh-registry.ts'
import { createRouteRegistry, type RouteRegistry } from './registry/route-registry.ts'
import { createRouteTable, type RouteTable } from './routing-table.ts'

export interface NetworkOptions {
  /** Stable id of this server: 1 to 100 letters, digits, and inner dots, dashes or underscores. */
  readonly id: string
  /** Registry of this server. Its owner closes it. */
  readonly registry: Registry
  /** Called when the registry cannot be read. Peers receive no updates until a retry succeeds. */
  readonly onError?: (error: Error) => void
  /**
   * Called when the entry of a service is too large for peers, so that the service is not
   * advertised.
   */
  readonly onTooLong?: (name: string) => void
}

/**
 * Services of this server and of other servers, with the routes to them. The `network` service
 * updates it (`services/network`).
 */
export interface Network {
  readonly id: string
  /**
   * The registry combined with services of other servers, whose nodes are the peers that calls are
   * sent to.
   */
  readonly registry: Registry
  readonly table: RouteTable
  /** Services of other servers. */
  readonly routes: Pick<RouteRegistry, 'listKnown' | 'restore' | 'watch'>
  /** Nodes of peers by id, set by the `network` service. */
  readonly nodes: Map<string, Node>
  /** Calls `listener` with each destination that changes. Used by the `network` service. */
  readonly listen: (listener: (key: string) => void) => void
  /** Starts to watch the registry. Resolves after the first query, whether successful or not. */
  readonly start: () => Promise<void>
  readonly close: () => void
}

const noop = (): void => {}

/**
 * Creates the network of a server without links.
 *
 * @throws {TypeError} for an invalid id, or a registry that does not support watches.
 */
export function createNetwork(options: NetworkOptions): Network {
  const { id, registry, onError = noop, onTooLong = noop } = options
  const { watch } = registry
  if (!isServerId(id))
    throw new TypeError(
      `id must be 1 to 100 letters, digits, and inner dots, dashes or underscores, got ${JSON.stringify(id)}`,
    )
  if (watch === undefined) throw new TypeError(`the registry ${registry.name} cannot be watched`)
  const watchable = { ...registry, watch }
  const nodes = new Map<string, Node>()
  let notify: (key: string) => void = noop
  const table = createRouteTable({
    id,
    onChange(key) {
      routes.changed(key)
      notify(key)
    },
  })

  const onChange: LocalServicesOptions['onChange'] = (name, versions) => {
    if (versions.length === 0) return table.setLocal(name, undefined)
    const entry = isCallable(versions) ? formatVersions(versions) : null
    const isTooLong = entry !== null && Buffer.byteLength(entry) > MAX_ENTRY_BYTES
    if (isTooLong) onTooLong(name)
    table.setLocal(name, isTooLong ? null : entry)
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
      notify = listener
    },
    start: local.start,
    close() {
      local.close()
      routes.close()
    },
  }
}

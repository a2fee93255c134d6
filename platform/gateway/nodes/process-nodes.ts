import { DEFAULT_DOMAIN } from '../../../core/registry/service.ts'
import type { ServiceCache } from '../../../core/registry/service-cache.ts'
import { type NodeStatus, readNodes } from '../../../core/upstream/health/node-status.ts'
import type { NodesRequest } from '../../../services/gateway/node-control.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { DrainedNode, DrainedNodes } from './drained-nodes.ts'

/** Nodes used by the gateway of one process. */
export interface ProcessNodes {
  /** Returns the services in use. A requested service in the default domain is loaded. */
  readonly read: (request: NodesRequest) => Promise<readonly NodeStatus[]>
  /** Replaces the list of drained nodes for new requests. */
  readonly setDrained: (nodes: readonly DrainedNode[]) => void
}

export interface ProcessNodesOptions {
  readonly drained: DrainedNodes
  /** Service caches, starting with the default domain. */
  readonly directories: () => readonly ServiceCache[]
  /** Returns the current `namespace` setting. */
  readonly namespace: () => string
}

export function createProcessNodes(options: ProcessNodesOptions): ProcessNodes {
  const { drained, directories, namespace } = options

  const load = async (service: string): Promise<void> => {
    try {
      await directories()[0]!.find(service)
    } catch {
      // If the registry is unavailable, only services in use are listed.
    }
  }

  return {
    async read({ service, namespace: domain }) {
      const names = [...new Set(service === '' ? [] : [service, toFullName(service, namespace())])]
      if (domain === DEFAULT_DOMAIN) for (const name of names) await load(name)
      const upstreams = directories()
        .flatMap((directory) => [...directory.services()])
        .map(({ upstream }) => upstream)
        .filter((upstream) => upstream.domain === domain)
      if (service === '') return upstreams.flatMap(readNodes)
      const name = names.find((each) => upstreams.some((upstream) => upstream.name === each))
      return upstreams.filter((upstream) => upstream.name === name).flatMap(readNodes)
    },

    setDrained(nodes) {
      drained.replace(nodes)
      for (const directory of directories())
        for (const { upstream } of directory.services()) upstream.applyDrains()
    },
  }
}

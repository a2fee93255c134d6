import type { Node, Service } from '../../contracts/registry.ts'
import { isOffline, parseNode } from './parse-node.ts'
import { type NodeOptions, UpstreamNode } from './upstream-node.ts'

/** The usable nodes of a service in the registry. */
export interface ListedNodes {
  readonly nodes: readonly UpstreamNode[]
  /** Whether the nodes are gRPC servers. */
  readonly grpc: boolean
  /** Whether a known node started or stopped draining. */
  readonly hasNewState: boolean
}

const MIXED =
  'the node speaks gRPC but other nodes of its service do not: register them under another name'

/**
 * Reads the nodes of all versions of a service. Unchanged nodes remain the same objects.
 *
 * @param known previous nodes by id.
 * @param onSkip called for unusable entries.
 */
export function readListedNodes(
  name: string,
  versions: readonly Service[],
  known: ReadonlyMap<string, UpstreamNode>,
  options: NodeOptions,
  onSkip: (entry: Node, reason: string) => void,
): ListedNodes {
  const entries = versions.flatMap(({ nodes }) => nodes)
  const grpc = entries.length > 0 && entries.every(isGrpcNode)
  const nodes = new Map<string, UpstreamNode>()
  let hasNewState = false
  for (const entry of entries) {
    if (isOffline(entry)) continue
    const settings = parseNode(entry)
    if (typeof settings === 'string') onSkip(entry, settings)
    else if (settings.protocol === 'grpc' && !grpc) onSkip(entry, MIXED)
    else if (nodes.has(entry.id)) onSkip(entry, `node id ${entry.id} is listed twice`)
    else {
      const old = known.get(entry.id)
      const node = old?.isSame(settings, options)
        ? old
        : new UpstreamNode(name, entry.id, settings, options)
      hasNewState ||= node.draining !== settings.draining
      node.draining = settings.draining
      nodes.set(entry.id, node)
    }
  }
  return { nodes: [...nodes.values()], grpc, hasNewState }
}

function isGrpcNode({ metadata }: Node): boolean {
  return Object.hasOwn(metadata, 'protocol') && /^grpcs?$/.test(metadata['protocol']!)
}

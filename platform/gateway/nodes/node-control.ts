import { isInUse, mergeNodes, type NodeStatus } from '../../../core/upstream/health/node-status.ts'
import { conflict, notFound } from '../../../sdk/errors.ts'
import type {
  NodeControl,
  NodeMessage,
  NodeSelection,
  NodesRequest,
} from '../../../services/gateway/node-control.ts'
import type { Log } from '../../process/log.ts'
import { type DrainedNode, toNodeKey } from './drained-nodes.ts'

/** The processes of a gateway. */
export interface NodeGroup {
  /** Returns the nodes by process. */
  readonly read: (request: NodesRequest) => Promise<readonly (readonly NodeStatus[])[]>
  /** Replaces the list of drained nodes in all processes. Later reads include the change. */
  readonly setDrained: (nodes: readonly DrainedNode[]) => void
}

/** Lists, drains and restores nodes in all processes of a gateway. */
export function createNodeControl({ read, setDrained }: NodeGroup, log: Log): NodeControl {
  const drained = new Map<string, DrainedNode>()
  let last: Promise<unknown> = Promise.resolve()

  const list = async (request: NodesRequest): Promise<readonly NodeStatus[]> => {
    const nodes = mergeNodes(await read(request))
    return nodes.sort((a, b) => compare(a.service, b.service) || compare(a.id, b.id))
  }

  const find = async (request: NodeSelection, id: string) => {
    const nodes = await list(request)
    const { node, service } = request
    const selected =
      nodes.find((each) => each.id === node) ?? nodes.find(({ address }) => address === node)
    if (selected !== undefined) return { nodes, found: selected }
    const ids = nodes.map((each) => each.id).join(', ') || 'none'
    throw notFound(id, `Node not found: ${node}. Nodes of the service ${service}: ${ids}`)
  }

  /** Runs calls sequentially, because two concurrent calls could drain the last two nodes. */
  const runAlone = <T>(run: () => Promise<T>): Promise<T> => {
    const result = last.then(run)
    last = result.catch(() => {})
    return result
  }

  const apply = async (request: NodeSelection, id: string): Promise<NodeMessage> => {
    setDrained([...drained.values()])
    return toMessage((await find(request, id)).found)
  }

  return {
    list: async (request) => (await list(request)).map(toMessage),

    drain: (request, { id, author }) =>
      runAlone(async () => {
        const { nodes, found } = await find(request, id)
        const isOther = (each: NodeStatus): boolean => each !== found && isInUse(each.state)
        if (found.state === 'drained') return toMessage(found)
        if (!request.force && !nodes.some(isOther))
          throw conflict(
            id,
            `No other node of the service ${found.service} is usable: drain ${found.id} with force, or make another node usable first`,
          )
        const { domain, service } = found
        drained.set(toNodeKey(found), { domain, service, id: found.id })
        log.warn({ service, node: found.id, author }, 'node drained by an operator')
        return apply(request, id)
      }),

    restore: (request, { id, author }) =>
      runAlone(async () => {
        const { found } = await find(request, id)
        if (!drained.delete(toNodeKey(found))) return toMessage(found)
        log.info({ service: found.service, node: found.id, author }, 'node restored by an operator')
        return apply(request, id)
      }),
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function toMessage({ domain, service, id, ...status }: NodeStatus): NodeMessage {
  const { address, zone, state, ejectedUntilMs, active, connections, latencyMs } = status
  return {
    ...{ namespace: domain, service, id, address, zone, state },
    ...(ejectedUntilMs !== 0 && { ejected_until: ejectedUntilMs }),
    ...{ in_flight: active, connections },
    ...(latencyMs !== undefined && { latency_ms: Math.round(latencyMs * 10) / 10 }),
  }
}

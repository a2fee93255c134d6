import { type TUnsafe, Type } from '../../core/schema.ts'

/** A node of a service as seen by the gateway. */
export interface NodeMessage {
  readonly namespace: string
  /** Full name of the service. */
  readonly service: string
  readonly id: string
  /** Address as `<host>:<port>`. */
  readonly address: string
  /** Zone; empty if unknown. */
  readonly zone: string
  /** State: usable, warming, open, unhealthy, ejected, draining or drained. */
  readonly state: string
  /** Unix time in milliseconds; absent if the node is not ejected. */
  readonly ejected_until?: number
  readonly in_flight: number
  readonly connections: number
  /** Average latency; absent if unknown. */
  readonly latency_ms?: number
}

export interface NodesRequest {
  readonly namespace: string
  /** Full name, or name in the namespace of the gateway. If empty, all services in use. */
  readonly service: string
}

export interface NodeSelection extends NodesRequest {
  /** Id or address of the node. */
  readonly node: string
}

/** Source of a call: the id used in its errors, and the operator for the log. */
export interface NodeCaller {
  readonly id: string
  readonly author: string
}

/** The nodes of a gateway in all its processes. */
export interface NodeControl {
  /** Returns the nodes sorted by service and id. */
  readonly list: (request: NodesRequest) => Promise<readonly NodeMessage[]>
  /**
   * Stops sending new requests to a node until it is restored or the gateway restarts. Requests in
   * flight complete.
   *
   * @param force drains the node even if no other node of the service is usable.
   * @throws {GatewayError} 404 for an unknown node, 409 for the last usable node.
   */
  readonly drain: (
    request: NodeSelection & { readonly force: boolean },
    caller: NodeCaller,
  ) => Promise<NodeMessage>
  /**
   * Reverts {@link drain}.
   *
   * @throws {GatewayError} 404 for an unknown node.
   */
  readonly restore: (request: NodeSelection, caller: NodeCaller) => Promise<NodeMessage>
}

export const NodeItem: TUnsafe<NodeMessage> = Type.Unsafe(
  Type.Object({
    namespace: Type.String(),
    service: Type.String({ description: 'Full name.' }),
    id: Type.String(),
    address: Type.String(),
    zone: Type.String({ description: 'Empty if unknown.' }),
    state: Type.String({
      description: 'usable, warming, open, unhealthy, ejected, draining or drained.',
    }),
    ejected_until: Type.Optional(
      Type.Integer({ description: 'Unix time in milliseconds; absent if not ejected.' }),
    ),
    in_flight: Type.Integer({ description: 'Requests and calls in flight.' }),
    connections: Type.Integer({ description: 'Open HTTP connections.' }),
    latency_ms: Type.Optional(
      Type.Number({ description: 'Average; only with the balancer ewma.' }),
    ),
  }),
)

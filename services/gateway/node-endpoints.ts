import { type TProperties, Type } from '../../core/schema.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { toAuthor } from './config-endpoints.ts'
import { type NodeControl, NodeItem } from './node-control.ts'

export interface NodeEndpointsOptions {
  /** @throws {GatewayError} 503 while the gateway is starting. */
  readonly nodes: (ctx: Context) => NodeControl
  readonly checks: AccountChecks
  /** Returns the id used in errors. */
  readonly idOf: (ctx: Context) => string
}

const MAX_NAME = 300
const Namespace = Type.String({
  ...{ default: DEFAULT_NAMESPACE, maxLength: MAX_NAME },
  description: 'Namespace of the services.',
})
const NODE = {
  namespace: Namespace,
  service: Type.String({ ...{ minLength: 1, maxLength: MAX_NAME }, description: 'Name.' }),
  node: Type.String({ ...{ minLength: 1, maxLength: MAX_NAME }, description: 'Id or address.' }),
} satisfies TProperties

/**
 * Endpoints for the nodes of the gateway. States are available to members of a namespace, changes
 * to operators.
 */
export function createNodeEndpoints({ nodes, checks, idOf }: NodeEndpointsOptions): Endpoints {
  return {
    nodes: endpoint({
      readOnly: true,
      description: 'Lists the nodes of services that the gateway uses, with their state.',
      request: Type.Object({
        service: Type.String({
          ...{ default: '', maxLength: MAX_NAME },
          description: 'Name; empty for all services in use.',
        }),
        namespace: Namespace,
      }),
      response: Type.Object({
        nodes: Type.Array(NodeItem, { description: 'Sorted by service and id.' }),
      }),
      async handle(request, ctx) {
        checks.mustBeViewer(ctx, request.namespace, idOf(ctx))
        return { nodes: [...(await nodes(ctx).list(request))] }
      },
    }),

    drain: endpoint({
      description:
        'Stops sending new requests to a node until it is restored or the gateway restarts.',
      request: Type.Object({
        ...NODE,
        force: Type.Boolean({
          ...{ default: false, description: 'Drain the node even if no other node is usable.' },
        }),
      }),
      response: Type.Object({ node: NodeItem }),
      async handle(request, ctx) {
        checks.mustBeOperator(ctx, idOf(ctx))
        const caller = { id: idOf(ctx), author: toAuthor(ctx) }
        return { node: await nodes(ctx).drain(request, caller) }
      },
    }),

    restore: endpoint({
      description: 'Ends the drain of a node.',
      request: Type.Object(NODE),
      response: Type.Object({ node: NodeItem }),
      async handle(request, ctx) {
        checks.mustBeOperator(ctx, idOf(ctx))
        const caller = { id: idOf(ctx), author: toAuthor(ctx) }
        return { node: await nodes(ctx).restore(request, caller) }
      },
    }),
  }
}

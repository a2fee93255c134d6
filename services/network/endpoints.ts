import { CALLER_ADDRESS } from '../../core/auth/identity-headers.ts'
import { Type } from '../../core/schema.ts'
import { parseServerAddress, SERVER_ADDRESS_FORMS } from '../../domain/mesh/address.ts'
import { MAX_PEERS } from '../../domain/mesh/limits.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import { type Context, metadata } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import type { AcceptedLinks } from './accepted-links.ts'
import type { Links } from './links.ts'
import { After, Depth, Limit, LinkStatus, Next, Peer, Query, Route, Server } from './messages.ts'
import { toLinkMessage, type View } from './status.ts'

export interface EndpointsOptions {
  readonly view: View
  readonly links: Links
  readonly accepted: AcceptedLinks
  readonly checks: AccountChecks
}

/**
 * Endpoints of the network (reference 9). Changes and service names are restricted to operators.
 * `admission.ts` decides which servers may link.
 */
export function createNetworkEndpoints(options: EndpointsOptions): Endpoints {
  const { view, links, accepted, checks } = options
  const mustBeOperator = (ctx: Context): void => checks.mustBeOperator(ctx, idOf(ctx))
  return {
    connect: endpoint({
      description:
        'Links this server with others until it stops. Responds after one attempt per server; failed links are retried.',
      request: Type.Object({
        nodes: Type.Array(
          Type.Object({
            address: Type.String({ description: 'Address of an RPC proxy, host:port.' }),
          }),
          { minItems: 1, maxItems: MAX_PEERS },
        ),
      }),
      response: Type.Object({ links: Type.Array(LinkStatus) }),
      async handle({ nodes }, ctx) {
        // Restricted, because the server connects to any specified address.
        mustBeOperator(ctx)
        const addresses = nodes.map(({ address }, i) => {
          const parsed = parseServerAddress(address)
          if (parsed !== undefined) return parsed
          const quoted = JSON.stringify(address.slice(0, 253))
          const field = `request.nodes[${i}].address`
          throw badRequest(idOf(ctx), `${field} must be ${SERVER_ADDRESS_FORMS}, got ${quoted}`)
        })
        const opened = new Set(addresses.map((address) => links.connect(address)))
        await Promise.all([...opened].map((link) => link.settled()))
        return {
          links: links.list().flatMap((info) => (opened.has(info.link) ? toLinkMessage(info) : [])),
        }
      },
    }),

    graph: endpoint({
      readOnly: true,
      description: 'Returns the graph of linked servers, starting at this one.',
      request: Type.Object({ depth: Depth }),
      response: Type.Object({ root: Peer }),
      handle: ({ depth }) => ({ root: view.toGraph(depth) }),
    }),

    nodes: endpoint({
      readOnly: true,
      description: 'Lists the reachable servers, this one first.',
      request: Type.Object({ depth: Depth }),
      response: Type.Object({ nodes: Type.Array(Server) }),
      handle: ({ depth }) => ({ nodes: view.listServers(depth) }),
    }),

    routes: endpoint({
      readOnly: true,
      description: 'Lists the routes to services, grouped by service, cheapest first.',
      request: Type.Object({ query: Query, limit: Limit, after: After }),
      response: Type.Object({ routes: Type.Array(Route), next: Type.Optional(Next) }),
      handle({ query, ...page }, ctx) {
        mustBeOperator(ctx)
        return view.listRoutes(query, page)
      },
    }),

    services: endpoint({
      readOnly: true,
      description: 'Lists the names of reachable services.',
      request: Type.Object({ limit: Limit, after: After }),
      response: Type.Object({ services: Type.Array(Type.String()), next: Type.Optional(Next) }),
      handle(page, ctx) {
        mustBeOperator(ctx)
        return view.listServices(page)
      },
    }),

    status: endpoint({
      readOnly: true,
      description: 'Returns the status and traffic of the links.',
      response: Type.Object({
        node: Server,
        links: Type.Array(LinkStatus, { description: 'Links for outgoing calls.' }),
        listeners: Type.Array(Type.String(), {
          description: 'Ids of the servers with a link to this one.',
        }),
      }),
      handle: () => ({
        node: view.self(),
        links: links.list().map(toLinkMessage),
        listeners: [...accepted.peers()].sort(),
      }),
    }),

    link: endpoint({
      description: 'Exchanges routes to services; for servers only.',
      stream: 'both',
      handle: (messages, ctx) =>
        accepted.open(messages, metadata.get(ctx, CALLER_ADDRESS)[0], idOf(ctx)),
    }),
  }
}

/**
 * Returns the id used in errors (reference 6), such as `network.Network.Graph`, without the
 * caller's namespace prefix.
 */
function idOf(ctx: Context): string {
  return `network.${ctx.endpoint}`
}

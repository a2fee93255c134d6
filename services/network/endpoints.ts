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
 * What the network offers (reference 9); to operators only what changes it or names services. Who may link is decided by `admission.ts`.
 */
export function createNetworkEndpoints(options: EndpointsOptions): Endpoints {
  const { view, links, accepted, checks } = options
  const mustBeOperator = (ctx: Context): void => checks.mustBeOperator(ctx, idOf(ctx))
  return {
    connect: endpoint({
      description:
        'Links this server with others, for as long as it runs. Answers once each was tried; those that failed are tried again.',
      request: Type.Object({
        nodes: Type.Array(
          Type.Object({ address: Type.String({ description: 'Of an RPC proxy, host:port.' }) }),
          { minItems: 1, maxItems: MAX_PEERS },
        ),
      }),
      response: Type.Object({ links: Type.Array(LinkStatus) }),
      async handle({ nodes }, ctx) {
        // The server connects to any address that it is given here.
        mustBeOperator(ctx)
        const addresses = nodes.map(({ address }, i) => {
          const parsed = parseServerAddress(address)
          if (parsed !== undefined) return parsed
          const shown = JSON.stringify(address.slice(0, 253))
          const field = `request.nodes[${i}].address`
          throw badRequest(idOf(ctx), `${field} must be ${SERVER_ADDRESS_FORMS}, got ${shown}`)
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
      description: 'This server, those it is linked with, and so on.',
      request: Type.Object({ depth: Depth }),
      response: Type.Object({ root: Peer }),
      handle: ({ depth }) => ({ root: view.toGraph(depth) }),
    }),

    nodes: endpoint({
      readOnly: true,
      description: 'The servers there is a way to, this one first.',
      request: Type.Object({ depth: Depth }),
      response: Type.Object({ nodes: Type.Array(Server) }),
      handle: ({ depth }) => ({ nodes: view.listServers(depth) }),
    }),

    routes: endpoint({
      readOnly: true,
      description: 'All ways to services, those of each service together, the cheapest first.',
      request: Type.Object({ query: Query, limit: Limit, after: After }),
      response: Type.Object({ routes: Type.Array(Route), next: Type.Optional(Next) }),
      handle({ query, ...page }, ctx) {
        mustBeOperator(ctx)
        return view.listRoutes(query, page)
      },
    }),

    services: endpoint({
      readOnly: true,
      description: 'Names of the services that can be called from here.',
      request: Type.Object({ limit: Limit, after: After }),
      response: Type.Object({ services: Type.Array(Type.String()), next: Type.Optional(Next) }),
      handle(page, ctx) {
        mustBeOperator(ctx)
        return view.listServices(page)
      },
    }),

    status: endpoint({
      readOnly: true,
      description: 'How the links stand, and what goes over them.',
      response: Type.Object({
        node: Server,
        links: Type.Array(LinkStatus, { description: 'By them this server calls others.' }),
        listeners: Type.Array(Type.String(), {
          description: 'Ids of the servers that call this one.',
        }),
      }),
      handle: () => ({
        node: view.self(),
        links: links.list().map(toLinkMessage),
        listeners: [...accepted.peers()].sort(),
      }),
    }),

    link: endpoint({
      description: 'For other servers: what this one has, and how to get there.',
      stream: 'both',
      handle: (messages, ctx) =>
        accepted.open(messages, metadata.get(ctx, CALLER_ADDRESS)[0], idOf(ctx)),
    }),
  }
}

/** Reference 6: `network.Network.Graph`, whatever namespace the caller put in front. */
function idOf(ctx: Context): string {
  return `network.${ctx.endpoint}`
}

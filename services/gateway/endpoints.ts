import { HeaderList } from '../../core/http/headers.ts'
import type { RecentRequest } from '../../core/metrics/recent-requests.ts'
import type { ServiceRate } from '../../core/metrics/service-rates.ts'
import { Type } from '../../core/schema.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import { type Context, metadata } from '../../sdk/context.ts'
import { badRequest, tooManyRequests, unavailable } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { createVersionEndpoints } from './config-endpoints.ts'
import { ConfiguredRouteList } from './configured-routes.ts'
import type { GatewayView } from './gateway-view.ts'
import {
  Explanation,
  Plugin,
  Request,
  Routes,
  ServiceStats,
  Stats,
  toServiceStats,
} from './messages.ts'
import { createNodeEndpoints } from './node-endpoints.ts'
import type { StatsFeeds } from './stats-feeds.ts'

export interface EndpointsOptions {
  /** Undefined while the gateway is starting. */
  readonly gateway: () => GatewayView | undefined
  readonly feeds: StatsFeeds
  readonly rates: () => readonly ServiceRate[]
  readonly recent: () => RecentRequest[]
  readonly checks: AccountChecks
  /** Maximum number of points. */
  readonly maxPoints: number
}

/** Maximum number of concurrent explanations, because each one builds a chain. */
const MAX_EXPLAINING = 4
const MAX_PATH = 8192
const MAX_BODY = 65_536
/** Maximum number of characters in a search. */
const MAX_SEARCH = 200

/**
 * Endpoints of the gateway. Statistics and routes are available to members of the platform, as in
 * registry and runtime; plugins, rules and tokens to administrators (reference 15.15).
 */
export function createApiEndpoints(options: EndpointsOptions): Endpoints {
  const { gateway, feeds, rates, recent, checks, maxPoints } = options
  let explaining = 0

  const view = (ctx: Context): GatewayView => {
    const running = gateway()
    if (running === undefined) throw unavailable(idOf(ctx), 'the gateway is starting')
    return running
  }
  const mustBeViewer = (ctx: Context): void =>
    checks.mustBeViewer(ctx, DEFAULT_NAMESPACE, idOf(ctx))
  const mustBeOperator = (ctx: Context): void => checks.mustBeOperator(ctx, idOf(ctx))

  return {
    ...createVersionEndpoints({
      versions: () => gateway()?.versions(),
      mustBeOperator,
      idOf,
    }),
    ...createNodeEndpoints({ nodes: (ctx) => view(ctx).nodes, checks, idOf }),

    stats: endpoint({
      readOnly: true,
      description:
        'Streams request statistics per second: recent seconds first, then one message per second.',
      request: Type.Object({
        seconds: Type.Integer({
          minimum: 0,
          maximum: maxPoints,
          default: maxPoints,
          description: 'Number of recent seconds to return first.',
        }),
      }),
      response: Stats,
      stream: 'server',
      handle({ seconds }, ctx) {
        mustBeViewer(ctx)
        return feeds.open(seconds, idOf(ctx))
      },
    }),

    services: endpoint({
      readOnly: true,
      description: 'Request rate, errors and latency of the last minute by service.',
      request: Type.Object({}),
      response: Type.Object({
        services: Type.Array(ServiceStats, { description: 'Sorted by name.' }),
      }),
      handle(_, ctx) {
        mustBeViewer(ctx)
        return { services: rates().map(toServiceStats) }
      },
    }),

    routes: endpoint({
      readOnly: true,
      description: 'Lists the routes from requests to endpoints, sorted by service name.',
      request: Type.Object({
        service: Type.String({ default: '', description: 'Full name; empty for all.' }),
        limit: Type.Integer({
          ...{ minimum: 1, maximum: 1000, default: 1000 },
          description: 'Maximum number of services.',
        }),
        after: Type.String({
          default: '',
          description: 'Cursor, taken from next of the previous page.',
        }),
      }),
      response: Routes,
      handle(request, ctx) {
        mustBeViewer(ctx)
        return view(ctx).listRoutes(request)
      },
    }),

    configuredRoutes: endpoint({
      readOnly: true,
      description: 'Lists the configured routes in order.',
      request: Type.Object({
        search: Type.String({
          ...{ default: '', maxLength: MAX_SEARCH },
          description: 'Words that a route must all contain; empty for all routes.',
        }),
        limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
        skip: Type.Integer({ minimum: 0, default: 0, description: 'Number of routes to skip.' }),
      }),
      response: ConfiguredRouteList,
      handle(request, ctx) {
        mustBeOperator(ctx)
        return view(ctx).listConfiguredRoutes(request)
      },
    }),

    plugins: endpoint({
      readOnly: true,
      description: 'Lists the plugins of the chain in order, with their options.',
      request: Type.Object({}),
      response: Type.Object({ plugins: Type.Array(Plugin) }),
      handle(_, ctx) {
        mustBeOperator(ctx)
        return { plugins: [...view(ctx).listPlugins()] }
      },
    }),

    requests: endpoint({
      readOnly: true,
      description: 'Lists recent requests that failed or took a second or more.',
      request: Type.Object({}),
      response: Type.Object({ requests: Type.Array(Request, { description: 'Newest first.' }) }),
      handle(_, ctx) {
        mustBeOperator(ctx)
        return { requests: recent() }
      },
    }),

    explain: endpoint({
      readOnly: true,
      description: 'Explains how a request would be processed, without sending it.',
      request: Type.Object({
        method: Type.String({ default: 'GET', pattern: '^[A-Za-z]{1,20}$' }),
        path: Type.String({
          ...{ pattern: '^/[!-~]*$', maxLength: MAX_PATH },
          description: 'Path with an optional query.',
        }),
        headers: Type.Record(Type.String(), Type.String(), {
          ...{ default: {}, maxProperties: 100 },
          description: 'Headers including Host. Authorization is never stored.',
        }),
        body: Type.String({ default: '', maxLength: MAX_BODY }),
        secure: Type.Optional(
          Type.Boolean({ description: 'The client uses HTTPS; absent: if the listener does.' }),
        ),
        listener: Type.String({
          default: '',
          description:
            'Name of the listener that receives the request; empty for the main listener.',
        }),
        client: Type.String({
          default: '',
          description: 'IP address of the client; empty: 127.0.0.1, or none at a Unix socket.',
        }),
        as_caller: Type.Boolean({
          default: false,
          description: 'Use the token of this call if the headers contain no Authorization.',
        }),
      }),
      response: Explanation,
      async handle({ as_caller, headers, ...request }, ctx) {
        mustBeOperator(ctx)
        const id = idOf(ctx)
        const running = view(ctx)
        checkHeaders(headers, id)
        if (explaining >= MAX_EXPLAINING)
          throw tooManyRequests(
            id,
            `the limit of ${MAX_EXPLAINING} concurrent explanations is reached`,
          )
        explaining++
        try {
          return await running.explain({
            ...request,
            headers: as_caller ? withToken(headers, ctx) : headers,
          })
        } finally {
          explaining--
        }
      },
    }),
  }
}

/** @throws {GatewayError} 400 for an invalid header. */
function checkHeaders(headers: Readonly<Record<string, string>>, id: string): void {
  const list = new HeaderList()
  for (const [name, value] of Object.entries(headers)) {
    try {
      list.append(name, value)
    } catch (error) {
      throw badRequest(id, `request.headers: ${(error as Error).message}`)
    }
  }
}

function withToken(
  headers: Readonly<Record<string, string>>,
  ctx: Context,
): Readonly<Record<string, string>> {
  const [authorization, found] = metadata.get(ctx, 'authorization')
  const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  return found && !hasToken ? { ...headers, authorization } : headers
}

/**
 * Returns the id used in errors (reference 6), such as `api.Api.Stats`, without the caller's
 * namespace prefix.
 */
function idOf(ctx: Context): string {
  return `api.${ctx.endpoint}`
}

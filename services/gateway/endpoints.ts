import { HeaderList } from '../../core/http/headers.ts'
import type { RecentRequest } from '../../core/metrics/recent-requests.ts'
import type { ServiceRate } from '../../core/metrics/service-rates.ts'
import { Type } from '../../core/schema.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import { type Context, metadata } from '../../sdk/context.ts'
import { badRequest, tooManyRequests, unavailable } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
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
import type { StatsFeeds } from './stats-feeds.ts'

export interface EndpointsOptions {
  /** Undefined: the gateway does not run yet. */
  readonly gateway: () => GatewayView | undefined
  readonly feeds: StatsFeeds
  readonly rates: () => readonly ServiceRate[]
  readonly recent: () => RecentRequest[]
  readonly checks: AccountChecks
  /** Points there are at most. */
  readonly maxPoints: number
}

/** Explanations at a time: each builds a chain of its own. */
const MAX_EXPLAINING = 4
const MAX_PATH = 8192
const MAX_BODY = 65_536

/**
 * What the gateway tells of itself: numbers and routes to members of the platform, as the registry and the runtime tell theirs; what
 * its plugins are told, and what rules and tokens come to, to administrators (reference 15.15).
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
    stats: endpoint({
      readOnly: true,
      description:
        'Requests of the gateway, second by second: the last ones at once, then one message a second.',
      request: Type.Object({
        seconds: Type.Integer({
          minimum: 0,
          maximum: maxPoints,
          default: maxPoints,
          description: 'How many of the last seconds come at once.',
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
      description: 'Requests of the last minute by service: rate, errors and latency.',
      request: Type.Object({}),
      response: Type.Object({ services: Type.Array(ServiceStats, { description: 'By name.' }) }),
      handle(_, ctx) {
        mustBeViewer(ctx)
        return { services: rates().map(toServiceStats) }
      },
    }),

    routes: endpoint({
      readOnly: true,
      description: 'The ways from requests to endpoints, by the names of their services.',
      request: Type.Object({
        service: Type.String({ default: '', description: 'Full name; empty: all.' }),
        limit: Type.Integer({
          ...{ minimum: 1, maximum: 1000, default: 1000 },
          description: 'Most services.',
        }),
        after: Type.String({ default: '', description: 'Name of a service: those behind it.' }),
      }),
      response: Routes,
      handle(request, ctx) {
        mustBeViewer(ctx)
        return view(ctx).listRoutes(request)
      },
    }),

    plugins: endpoint({
      readOnly: true,
      description: 'The chain that serves: plugins in their order, with their options.',
      request: Type.Object({}),
      response: Type.Object({ plugins: Type.Array(Plugin) }),
      handle(_, ctx) {
        mustBeOperator(ctx)
        return { plugins: [...view(ctx).listPlugins()] }
      },
    }),

    requests: endpoint({
      readOnly: true,
      description: 'The last requests that failed, or took a second or more.',
      request: Type.Object({}),
      response: Type.Object({ requests: Type.Array(Request, { description: 'Newest first.' }) }),
      handle(_, ctx) {
        mustBeOperator(ctx)
        return { requests: recent() }
      },
    }),

    explain: endpoint({
      readOnly: true,
      description: 'What a request would meet on its way; nothing is sent.',
      request: Type.Object({
        method: Type.String({ default: 'GET', pattern: '^[A-Za-z]{1,20}$' }),
        path: Type.String({
          ...{ pattern: '^/[!-~]*$', maxLength: MAX_PATH },
          description: 'With a query behind ?, if there is one.',
        }),
        headers: Type.Record(Type.String(), Type.String(), {
          ...{ default: {}, maxProperties: 100 },
          description: 'Host among them. Authorization is never kept.',
        }),
        body: Type.String({ default: '', maxLength: MAX_BODY }),
        as_caller: Type.Boolean({
          default: false,
          description: 'With the token of this call, where the headers have no Authorization.',
        }),
      }),
      response: Explanation,
      async handle({ as_caller, headers, ...request }, ctx) {
        mustBeOperator(ctx)
        const id = idOf(ctx)
        const running = view(ctx)
        checkHeaders(headers, id)
        if (explaining >= MAX_EXPLAINING)
          throw tooManyRequests(id, `${MAX_EXPLAINING} requests are being explained already`)
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

/** @throws {GatewayError} 400 for a field that no client could send. */
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
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
  return found && !isGiven ? { ...headers, authorization } : headers
}

/** Reference 6: `api.Api.Stats`, whatever namespace the caller put in front. */
function idOf(ctx: Context): string {
  return `api.${ctx.endpoint}`
}

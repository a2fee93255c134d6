import { ADMIN, isAdminOf, SERVICE } from '../../../core/auth/policy/account-rights.ts'
import { Type } from '../../../core/schema.ts'
import { mustBeAdmin, mustBeViewer } from '../../../sdk/auth/account-checks.ts'
import type { Context } from '../../../sdk/context.ts'
import { badRequest, forbidden } from '../../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import type { Audit } from '../audit.ts'
import { idOf, namespaceOf, Options, text } from '../messages.ts'
import type { QuotaUsage, StoredQuotas } from './request-quotas.ts'

export interface QuotaEndpointsOptions {
  readonly requestQuotas: StoredQuotas
  readonly audit: Audit
}

const MAX_PAGE = 1000
const REQUESTS_MAX = 1_000_000
const LIMIT_MAX = 1_000_000_000_000

const Period = Type.Union([Type.Literal('day'), Type.Literal('month')])
const Counter = Type.Object({
  quota: Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$', description: 'Name of the quota.' }),
  period: Period,
  namespace: Type.String({ minLength: 1, maxLength: 253 }),
  account: Type.String({ minLength: 1, maxLength: 1024 }),
  apiKey: Type.String({ maxLength: 64, description: 'Id of the API key; empty for the account.' }),
})

const UsageView = Type.Object({
  quota: Type.String({ description: 'Name of the quota.' }),
  period: Period,
  account: Type.String(),
  api_key: Type.String({ description: 'Id of the API key; empty for the account.' }),
  used: Type.Integer({ description: 'Counted requests, including those reserved by gateways.' }),
  limit: Type.Integer(),
  start: Type.Integer({ description: 'Start of the period in seconds since 1970.' }),
  ends: Type.Integer({ description: 'End of the period in seconds since 1970.' }),
})

/** Endpoints of the `RequestQuotas` handler. */
export function createQuotaEndpoints({ requestQuotas, audit }: QuotaEndpointsOptions): Endpoints {
  return {
    reserve: endpoint({
      description: 'Counts requests in advance, for gateways.',
      idempotent: false,
      request: Type.Object({
        counter: Counter,
        limit: Type.Integer({ minimum: 1, maximum: LIMIT_MAX }),
        requests: Type.Integer({ minimum: 1, maximum: REQUESTS_MAX }),
      }),
      response: Type.Object({
        granted: Type.Integer({ description: 'Reserved requests; 0 if the quota is exhausted.' }),
        used: Type.Integer(),
        epoch: Type.String({ description: 'Period and resets, for Release.' }),
        leftMs: Type.Integer({ description: 'Milliseconds until the end of the period.' }),
      }),
      async handle(reservation, ctx) {
        mustBeGateway(ctx, reservation.counter.namespace)
        return requestQuotas.reserve(reservation)
      },
    }),

    release: endpoint({
      description: 'Subtracts reserved requests that were not made, for gateways.',
      idempotent: false,
      request: Type.Object({
        counter: Counter,
        epoch: Type.String(),
        requests: Type.Integer({ minimum: 1, maximum: REQUESTS_MAX }),
      }),
      response: Type.Object({}),
      async handle(release, ctx) {
        mustBeGateway(ctx, release.counter.namespace)
        await requestQuotas.release(release)
        return {}
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Lists the counts of the current day or month, paginated.',
      request: Type.Object({
        period: Type.Union([Type.Literal('day'), Type.Literal('month')], { default: 'day' }),
        account: text(
          'Id of the account; empty for all accounts that the caller may see: administrators see the namespace.',
        ),
        limit: Type.Integer({
          ...{ minimum: 0, default: 0 },
          description: `Page size; 0 for ${MAX_PAGE}.`,
        }),
        after: text('Cursor, taken from next of the previous page.'),
        options: Options,
      }),
      response: Type.Object({
        usage: Type.Array(UsageView),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ period, account, limit: requested, after, options }, ctx) {
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeViewer(ctx, namespace, idOf(ctx))
        const isAdmin = isAdminOf(caller, namespace)
        if (account !== '' && account !== caller.id && !isAdmin)
          mustBeAdmin(ctx, namespace, idOf(ctx))
        const owner = account === '' && !isAdmin ? caller.id : account
        const query = {
          ...{ period, limit: Math.min(requested || MAX_PAGE, MAX_PAGE) },
          ...(owner !== '' && { account: owner }),
          ...(after !== '' && { after }),
        }
        const { usage, next } = await requestQuotas.list(namespace, query, ctx.signal)
        return { usage: usage.map(toView), ...(next !== undefined && { next }) }
      },
    }),

    reset: endpoint({
      description: 'Sets the counts of an account in the current day and month to 0.',
      request: Type.Object({
        account: text('Id of the account.'),
        quota: text('Name of the quota; empty for all.'),
        api_key: text('Id of an API key; empty for the account and all its keys.'),
        options: Options,
      }),
      response: Type.Object({ count: Type.Integer({ description: 'Number of changed counts.' }) }),
      async handle({ account, quota, api_key: apiKey, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        mustBeAdmin(ctx, namespace, errorId)
        if (account === '') throw badRequest(errorId, 'request.account is required')
        const query = { account, ...(quota !== '' && { quota }), ...(apiKey !== '' && { apiKey }) }
        const count = await requestQuotas.reset(namespace, query, errorId)
        if (count > 0) audit(ctx, 'quota.reset', { namespace, target: account })
        return { count }
      },
    }),
  }
}

/**
 * Requires the `service` or `admin` scope in the platform's namespace or the namespace of the counter. Workloads must
 * not count requests of other accounts.
 *
 * @throws {GatewayError} 403
 */
function mustBeGateway(ctx: Context, namespace: string): void {
  const { issuer = '', scopes = [] } = ctx.account ?? {}
  const isGateway = scopes.includes(SERVICE) || scopes.includes(ADMIN)
  if (isGateway && (issuer === DEFAULT_NAMESPACE || issuer === namespace)) return
  throw forbidden(idOf(ctx), 'Counting requests requires the scope service or admin')
}

function toView({ quota, period, account, apiKey, used, limit, startMs, endMs }: QuotaUsage) {
  return {
    ...{ quota, period, account, api_key: apiKey, used, limit },
    ...{ start: startMs / 1000, ends: endMs / 1000 },
  }
}

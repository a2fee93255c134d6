import { isAdminOf } from '../../../core/auth/policy/account-rights.ts'
import type { Session } from '../../../core/contracts/auth.ts'
import { type TUnsafe, Type } from '../../../core/schema.ts'
import { mustBeAdmin, mustBeViewer } from '../../../sdk/auth/account-checks.ts'
import type { Account, Context } from '../../../sdk/context.ts'
import { badRequest, forbidden, unauthorized } from '../../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { Audit } from '../audit.ts'
import { idOf, namespaceOf, Options, secret, text } from '../messages.ts'
import type { ApiKeyRecord } from '../records.ts'
import { isEnforcer } from '../watchers.ts'
import type { ApiKeys, CreatedApiKey } from './api-keys.ts'

export interface ApiKeyEndpointsOptions {
  readonly accounts: Pick<Accounts, 'find'>
  readonly apiKeys: ApiKeys
  readonly audit: Audit
}

const MAX_PAGE = 1000
const DAY_S = 86_400
/** Default time for which a replaced secret stays valid, and its maximum. */
const GRACE_S = DAY_S
const GRACE_MAX_S: number = 30 * DAY_S
const LIFE_MAX_S: number = 3650 * DAY_S
const LIMIT_MAX = 1_000_000_000_000
/** All accounts, in `account` of `ApiKeys.List`. */
const ALL = '*'
const NAME = /^[^\p{C}]{1,128}$/u

const Limits = Type.Object(
  {
    day: limit('Requests per UTC day; 0 for unlimited.'),
    month: limit('Requests per UTC month; 0 for unlimited.'),
  },
  { default: {}, description: 'Limits for the quota plugin, in addition to its own.' },
)

const ApiKeyFields = {
  id: Type.String({ description: 'Id, which is part of the key.' }),
  account: Type.String({ description: 'Id of the owner.' }),
  namespace: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  limits: Type.Object({ day: Type.Integer(), month: Type.Integer() }),
  created: Type.Integer({ description: 'Seconds since 1970.' }),
  expires: Type.Integer({ description: 'Seconds since 1970; 0 if the key never expires.' }),
  previous_expires: Type.Integer({
    description:
      'Expiry of the previous secret after a rotation, in seconds since 1970; 0 if absent.',
  }),
  last_used: Type.Integer({
    description: 'Seconds since 1970 with a resolution of an hour; 0 if the key was never used.',
  }),
}
const ApiKeyView = Type.Object(ApiKeyFields)
const CreatedApiKeyView = Type.Object({
  ...ApiKeyFields,
  key: Type.String({ description: 'The key with its secret, which is returned once.' }),
})

const SessionView: TUnsafe<Session> = Type.Unsafe(
  Type.Object({
    account: Type.Object({
      id: Type.String(),
      name: Type.String(),
      type: Type.Union([Type.Literal('user'), Type.Literal('service')]),
      issuer: Type.String(),
      scopes: Type.Array(Type.String(), {
        description: 'Scopes of the key that its owner still has.',
      }),
      metadata: Type.Record(Type.String(), Type.String()),
      apiKey: Type.String({ description: 'Id of the key.' }),
    }),
    id: Type.String({ description: 'Id of the key and its version, by which it is revoked.' }),
    issuedMs: Type.Integer({ description: 'Milliseconds since 1970.' }),
    endsMs: Type.Integer({ description: 'Milliseconds since 1970; 0 if the key never expires.' }),
    limits: Type.Object({
      day: Type.Optional(Type.Integer()),
      month: Type.Optional(Type.Integer()),
    }),
  }),
)

/** Endpoints of the `ApiKeys` handler. */
export function createApiKeyEndpoints(options: ApiKeyEndpointsOptions): Endpoints {
  const { accounts, apiKeys, audit } = options

  /**
   * Finds a key that the caller may change: administrators change every key of the namespace, other accounts their own.
   * A caller that uses an API key may change only this key.
   *
   * @throws {GatewayError} 400 for an unknown key, 401, 403
   */
  async function findOwn(ctx: Context, namespace: string, id: string): Promise<ApiKeyRecord> {
    const errorId = idOf(ctx)
    const caller = mustBeViewer(ctx, namespace, errorId)
    if (id === '') throw badRequest(errorId, 'ID missing')
    const key = await apiKeys.find(namespace, id)
    const isOwn = key?.account === caller.id && caller.issuer === namespace
    const isSame = caller.apiKey === undefined || caller.apiKey === id
    if (key !== undefined && (isAdminOf(caller, namespace) || (isOwn && isSame))) return key
    if (key !== undefined && isOwn) throw toKeyCaller(errorId)
    throw badRequest(errorId, 'API key not found with this ID')
  }

  return {
    create: endpoint({
      description: 'Creates an API key of an account. The key is returned only here.',
      idempotent: false,
      request: Type.Object({
        account: text(
          'Id of the owner; empty for the caller. Other accounts require an administrator.',
        ),
        name: text('Name for people, such as the program that uses the key.'),
        scopes: Type.Array(Type.String(), {
          default: [],
          description: 'Scopes of the key, which the owner must have.',
        }),
        expiry: Type.Integer({
          ...{ default: 0, minimum: 0, maximum: LIFE_MAX_S },
          description: 'Lifetime in seconds; 0 for unlimited.',
        }),
        limits: Limits,
        options: Options,
      }),
      response: CreatedApiKeyView,
      async handle({ account, name, scopes, expiry, limits, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeViewer(ctx, namespace, errorId)
        const isAdmin = isAdminOf(caller, namespace)
        const isMember = caller.issuer === namespace
        const isOwn = isMember && (account === '' || account === caller.id)
        if (!isOwn) mustBeAdmin(ctx, namespace, errorId)
        if (!isMember && account === '')
          throw badRequest(
            errorId,
            `request.account must be an account of the namespace ${namespace}`,
          )
        if (caller.apiKey !== undefined && !isAdmin) throw toKeyCaller(errorId)
        if (!NAME.test(name))
          throw badRequest(
            errorId,
            'request.name must be 1 to 128 characters without control characters',
          )
        const owner = await accounts.find(namespace, account || caller.id)
        if (owner === undefined) throw badRequest(errorId, 'Account not found with this ID')
        if (!isAdmin) mustHaveScopes(caller, scopes, errorId)
        const input = { name, scopes, lifeMs: expiry * 1000, limits: toLimits(limits) }
        const created = await apiKeys.create(owner, input, errorId)
        audit(ctx, 'api-key.create', { namespace, target: describe(created.record) })
        return toCreated(created)
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Lists API keys by account and id, paginated, without their secrets.',
      request: Type.Object({
        account: text(
          'Id of the owner; empty for the caller; * for all accounts. Other accounts require an administrator.',
        ),
        limit: Type.Integer({
          minimum: 0,
          default: 0,
          description: `Page size; 0 for ${MAX_PAGE}.`,
        }),
        after: text('Cursor, taken from next of the previous page.'),
        options: Options,
      }),
      response: Type.Object({
        keys: Type.Array(ApiKeyView),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ account, limit: requested, after, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeViewer(ctx, namespace, errorId)
        const owner = account || (caller.issuer === namespace ? caller.id : ALL)
        if (caller.issuer !== namespace || owner !== caller.id) mustBeAdmin(ctx, namespace, errorId)
        const query = {
          limit: Math.min(requested || MAX_PAGE, MAX_PAGE),
          ...(owner !== ALL && { account: owner }),
          ...(after !== '' && { after }),
        }
        const { keys, next } = await apiKeys.list(namespace, query, ctx.signal)
        return { keys: keys.map(toView), ...(next !== undefined && { next }) }
      },
    }),

    rotate: endpoint({
      description:
        'Replaces the secret of an API key and returns the new key, once. The previous secret stays valid for a grace period.',
      idempotent: false,
      request: Type.Object({
        id: text('Id of the key.'),
        grace: Type.Integer({
          ...{ default: GRACE_S, minimum: 0, maximum: GRACE_MAX_S },
          description: 'Time in seconds for which the previous secret stays valid.',
        }),
        options: Options,
      }),
      response: CreatedApiKeyView,
      async handle({ id, grace, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const key = await findOwn(ctx, namespace, id)
        const rotated = await apiKeys.rotate(key, grace * 1000, errorId)
        if (rotated === undefined) throw badRequest(errorId, 'API key not found with this ID')
        audit(ctx, 'api-key.rotate', { namespace, target: describe(key) })
        return toCreated(rotated)
      },
    }),

    delete: endpoint({
      description: 'Deletes an API key, which becomes invalid within a second.',
      request: Type.Object({ id: text('Id of the key.'), options: Options }),
      response: Type.Object({}),
      async handle({ id, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const key = await findOwn(ctx, namespace, id)
        if (!(await apiKeys.delete(key)))
          throw badRequest(errorId, 'API key not found with this ID')
        audit(ctx, 'api-key.delete', { namespace, target: describe(key) })
        return {}
      },
    }),

    verify: endpoint({
      description: 'Verifies an API key for gateways and services.',
      request: Type.Object({
        id: text('Id of the key.'),
        hash: secret('SHA-256 of the key in base64url.'),
      }),
      response: Type.Object({ session: Type.Optional(SessionView) }),
      async handle({ id, hash }, ctx) {
        const { account } = ctx
        if (account === undefined || !isEnforcer(account))
          throw forbidden(idOf(ctx), 'Only services and administrators may verify API keys')
        const session = await apiKeys.verify({ id, hash })
        if (session === undefined) return {}
        const { limits = {}, endsMs, ...rest } = session
        return { session: { ...rest, endsMs: Number.isFinite(endsMs) ? endsMs : 0, limits } }
      },
    }),
  }
}

function limit(description: string): TUnsafe<number> {
  return Type.Unsafe(Type.Integer({ default: 0, minimum: 0, maximum: LIMIT_MAX, description }))
}

function toLimits({ day, month }: { readonly day: number; readonly month: number }) {
  return { ...(day > 0 && { day }), ...(month > 0 && { month }) }
}

/** An API key with fewer scopes than its owner must not create a key with more scopes. */
function mustHaveScopes(caller: Account, scopes: readonly string[], errorId: string): void {
  const missing = scopes.findIndex((scope) => !caller.scopes.includes(scope))
  if (missing >= 0)
    throw badRequest(
      errorId,
      `request.scopes[${missing}] must be a scope of the caller, got ${JSON.stringify(scopes[missing])}`,
    )
}

/** A leaked key must not yield further keys, which would remain valid after its deletion. */
function toKeyCaller(errorId: string): Error {
  return unauthorized(errorId, 'API keys cannot manage other API keys; log in with the account', {
    headers: ['www-authenticate', 'Bearer error="insufficient_scope"'],
  })
}

function toView(record: ApiKeyRecord) {
  const { id, account, namespace, name, scopes, limits, previous } = record
  return {
    ...{ id, account, namespace, name, scopes: [...scopes] },
    limits: { day: limits.day ?? 0, month: limits.month ?? 0 },
    created: toSeconds(record.createdMs),
    expires: toSeconds(record.expiresMs),
    previous_expires: toSeconds(previous?.endsMs ?? 0),
    last_used: toSeconds(record.usedMs),
  }
}

function toCreated({ record, key }: CreatedApiKey) {
  return { ...toView(record), key }
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

function describe({ account, id }: ApiKeyRecord): string {
  return `${account}/${id}`
}

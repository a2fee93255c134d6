import { isOperator } from '../../core/auth/policy/account-rights.ts'
import { TOKEN_LIFE_MAX_S } from '../../core/auth/token/access-token.ts'
import type { Revocation } from '../../core/auth/token/revocations.ts'
import { TokenError } from '../../core/auth/token/token-error.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import { mustBeAdmin, mustBeMember, mustBeOperator } from '../../sdk/auth/account-checks.ts'
import type { Account } from '../../sdk/context.ts'
import { badRequest } from '../../sdk/errors.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import type { Accounts } from './accounts/accounts.ts'
import type { AdmitLogin } from './accounts/admit-login.ts'
import type { AdmitAccount } from './accounts/quotas.ts'
import type { Audit } from './audit.ts'
import type { AttemptLogin } from './login-throttle.ts'
import { AccountView, idOf, namespaceOf, Options, secret, text, toMessage } from './messages.ts'
import type { ExchangeRefreshToken } from './tokens/exchange-refresh-token.ts'
import { type PublicJwk, toJwks } from './tokens/jwks.ts'
import type { Revoked } from './tokens/revocation-store.ts'
import type { SigningKeys } from './tokens/signing-keys.ts'
import { streamTokenState, type TokenState } from './tokens/stream-token-state.ts'
import { LIFE_S, type TokenPair, type Tokens } from './tokens/tokens.ts'
import { isEnforcer, type Watchers } from './watchers.ts'

export interface AuthEndpointsOptions {
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly keys: SigningKeys
  readonly revoked: Revoked
  readonly attemptLogin: AttemptLogin
  readonly exchangeRefreshToken: ExchangeRefreshToken
  readonly admitLogin: AdmitLogin
  readonly admitAccount: AdmitAccount
  readonly watchers: Watchers
  readonly audit: Audit
}

const Jwks: TUnsafe<readonly PublicJwk[]> = Type.Unsafe(
  Type.Array(
    Type.Object({
      kty: Type.String(),
      crv: Type.String(),
      x: Type.String(),
      kid: Type.String(),
      alg: Type.String(),
      use: Type.String(),
    }),
    { description: 'Public keys of access tokens (RFC 7517, RFC 8037).' },
  ),
)

const UpdateMessage: TUnsafe<TokenState> = Type.Unsafe(
  Type.Object({
    keys: Jwks,
    revoked: Type.Array(
      Type.Object({
        id: Type.String({
          description: 'Token id, or its prefix up to a dot.',
        }),
        namespace: Type.String(),
        account: Type.String({ description: 'All tokens of this account.' }),
        before: Type.Integer({
          description: 'Revokes tokens issued before this time; milliseconds since 1970.',
        }),
        ends: Type.Integer({ description: 'Expiry of the revocation; milliseconds since 1970.' }),
      }),
    ),
  }),
)

const ScopesInput: TUnsafe<readonly string[]> = Type.Unsafe(
  Type.Array(Type.String(), { default: [], description: 'Scopes of the account.' }),
)
const MetadataInput: TUnsafe<Readonly<Record<string, string>>> = Type.Unsafe(
  Type.Record(Type.String(), Type.String(), { default: {} }),
)

/** Endpoints of the `Auth` handler (reference 2.1). */
export function createAuthEndpoints(options: AuthEndpointsOptions): Endpoints {
  const { accounts, tokens, keys, revoked, attemptLogin, exchangeRefreshToken, admitLogin } =
    options
  const { admitAccount, watchers, audit } = options

  return {
    generate: endpoint({
      description: 'Creates an account. Its secret is returned only here.',
      idempotent: false,
      request: Type.Object({
        id: text('Unique in its namespace.'),
        name: text('Alternative login name; empty for the id.'),
        type: text('user or service; empty for user.'),
        scopes: ScopesInput,
        metadata: MetadataInput,
        secret: secret('Secret; empty to generate one.'),
        provider: text('Not used.'),
        options: Options,
      }),
      response: Type.Object({ account: AccountView }),
      async handle({ id, name, type, scopes, metadata, secret, options }, ctx) {
        const errorId = idOf(ctx)
        const namespace = namespaceOf(options, ctx)
        const caller = mustBeAdmin(ctx, namespace, errorId)
        const input = {
          ...{ id, scopes, metadata, type: toType(type, errorId) },
          ...(name !== '' && { name }),
          ...(secret !== '' && { secret }),
        }
        const create = () => accounts.create(namespace, input, errorId)
        const newAccount = await (isOperator(caller)
          ? create()
          : admitAccount(namespace, errorId, create))
        audit(ctx, 'account.create', { namespace, target: id })
        return { account: { ...toMessage(newAccount.account), secret: newAccount.secret } }
      },
    }),

    inspect: endpoint({
      readOnly: true,
      description: 'Returns the account of an access token.',
      request: Type.Object({ token: secret('An access token.'), options: Options }),
      response: Type.Object({ account: AccountView }),
      async handle({ token }, ctx) {
        try {
          const { account } = await tokens.inspect(token)
          const stored = await accounts.find(account.issuer, account.id)
          const created = stored?.id === account.id ? stored.created : 0
          return { account: { ...account, created } }
        } catch (error) {
          if (!(error instanceof TokenError)) throw error
          throw badRequest(idOf(ctx), 'invalid token provided', { cause: error })
        }
      },
    }),

    token: endpoint({
      description: 'Issues tokens for a secret or a refresh token, which can be used once.',
      idempotent: false,
      request: Type.Object({
        id: text('Id or name of the account.'),
        secret: secret('Secret of the account.'),
        refresh_token: secret('Alternative to id and secret.'),
        token_expiry: Type.Integer({
          ...{ default: 0, minimum: 0, maximum: TOKEN_LIFE_MAX_S },
          description: `Lifetime of the access token in seconds; 0 for ${LIFE_S}.`,
        }),
        options: Options,
      }),
      response: Type.Object({
        token: Type.Object({
          access_token: Type.String(),
          refresh_token: Type.String(),
          created: Type.Integer({ description: 'Seconds since 1970.' }),
          expiry: Type.Integer({ description: 'Seconds since 1970.' }),
        }),
      }),
      async handle({ id, secret, refresh_token, token_expiry, options }, ctx) {
        const errorId = idOf(ctx)
        const lifeS = token_expiry || LIFE_S
        return admitLogin(ctx, async (mustBeAllowed) => {
          if (refresh_token !== '') {
            const input = { namespace: namespaceOf(options, ctx), token: refresh_token, lifeS }
            return toTokenMessage(await exchangeRefreshToken(ctx, input, mustBeAllowed))
          }
          if (id === '' || secret === '')
            throw badRequest(errorId, 'Credentials or a refresh token required')
          const namespace = namespaceOf(options, ctx)
          const account = await attemptLogin(ctx, { namespace, id }, async (slot) => {
            const verified = await accounts.logIn(namespace, id, secret, errorId, slot)
            mustBeAllowed(verified)
            return verified
          })
          return toTokenMessage(await tokens.begin(account, lifeS))
        })
      },
    }),

    revoke: endpoint({
      description:
        'Revokes an access token, a refresh token with all tokens of its login, or all tokens of an account. Invalid tokens are ignored.',
      request: Type.Object({
        token: secret('An access token or a refresh token.'),
        refresh_token: secret('Same as token.'),
        id: text(
          'Account id; administrators may specify any account, other callers only their own.',
        ),
        options: Options,
      }),
      response: Type.Object({}),
      async handle({ token, refresh_token, id, options }, ctx) {
        const errorId = idOf(ctx)
        const input = token || refresh_token
        if (input !== '') {
          const owner = await tokens.revoke(input, errorId)
          if (owner !== undefined)
            audit(ctx, 'token.revoke', { namespace: owner.namespace, target: owner.account })
          return {}
        }
        if (id === '') throw badRequest(errorId, 'token or ID required')
        const namespace = namespaceOf(options, ctx)
        const { issuer, id: caller } = mustBeMember(ctx, namespace, errorId)
        if (issuer !== namespace || caller !== id) mustBeAdmin(ctx, namespace, errorId)
        await accounts.revoke(namespace, id, errorId)
        audit(ctx, 'account.revoke', { namespace, target: id })
        return {}
      },
    }),

    keys: endpoint({
      readOnly: true,
      description: 'Public keys of access tokens, as a JWK Set (RFC 7517).',
      response: Type.Object({ keys: Jwks }),
      handle: () => ({ keys: toJwks(keys.all()) }),
    }),

    rotateKey: endpoint({
      description:
        'Rotates the signing key of access tokens. Existing tokens remain valid unless the old keys are dropped.',
      idempotent: false,
      request: Type.Object({
        drop: Type.Boolean({
          default: false,
          description: 'Invalidate all existing access tokens immediately.',
        }),
      }),
      response: Type.Object({ kid: Type.String({ description: 'Id of the new key.' }) }),
      async handle({ drop }, ctx) {
        const errorId = idOf(ctx)
        mustBeOperator(ctx, errorId)
        const kid = await keys.rotate(drop, errorId)
        audit(ctx, drop ? 'key.drop' : 'key.rotate', { namespace: DEFAULT_NAMESPACE, target: kid })
        return { kid }
      },
    }),

    watch: endpoint({
      readOnly: true,
      description:
        'Streams the public keys, immediately and after each change. Services and administrators also receive revocations.',
      response: UpdateMessage,
      stream: 'server',
      handle: (_, ctx) =>
        watchers.open(ctx, idOf(ctx), (signal) =>
          streamTokenState({ keys, revoked, signal, isVisible: toFilter(ctx.account) }),
        ),
    }),
  }
}

function toType(type: string, errorId: string): 'user' | 'service' {
  if (type === '' || type === 'user') return 'user'
  if (type === 'service') return type
  throw badRequest(errorId, `request.type must be user or service, got ${JSON.stringify(type)}`)
}

function toTokenMessage({ accessToken, refreshToken, created, expiry }: TokenPair) {
  return {
    token: { access_token: accessToken, refresh_token: refreshToken, created, expiry },
  }
}

/**
 * Returns the filter that selects the revocations sent to a watcher. Accounts of the platform receive all revocations.
 * Other accounts receive revocations for their namespace and for `mx`, whose accounts may call it.
 */
function toFilter(account: Account | undefined): (revocation: Revocation) => boolean {
  if (account === undefined || !isEnforcer(account)) return () => false
  const { issuer } = account
  if (issuer === DEFAULT_NAMESPACE) return () => true
  return ({ id, namespace }) => id !== '' || namespace === issuer || namespace === DEFAULT_NAMESPACE
}

import { decodeJwt, errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { createIdentity, denyAuthentication } from '../../core/auth/authentication-hooks.ts'
import { readBearer } from '../../core/auth/token/bearer.ts'
import type { Session } from '../../core/contracts/auth.ts'
import { createEgressPolicy } from '../../core/egress/egress-policy.ts'
import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { checkUrl, createIssuerKeys } from './oidc/issuer-keys.ts'
import { toAccount } from './oidc/to-account.ts'

/** Asymmetric algorithms, with which only the issuer can sign (RFC 8725 §3.1, §3.2). */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

const options = Type.Object({
  issuer: Type.String({ description: 'Issuer (`iss`) of accepted tokens, an https:// URL.' }),
  audience: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    description: 'Accepted audiences, one of which must be in `aud`.',
  }),
  jwksUri: Type.String({
    default: '',
    description: 'URL of the JSON Web Key Set; default: URL from OpenID Connect Discovery.',
  }),
  algorithms: Type.Array(Type.Union(ALGORITHMS.map((name) => Type.Literal(name))), {
    default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    minItems: 1,
    description: 'Accepted signature algorithms.',
  }),
  idClaim: Type.String({
    default: 'sub',
    description: 'Claim with the account id, which becomes <issuer>#<value>.',
  }),
  nameClaim: Type.String({ default: 'name', description: 'Claim with the account name.' }),
  scopesClaim: Type.String({
    default: 'scope',
    description: 'Claim with the scopes, or a path such as realm_access.roles.',
  }),
  scopes: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
    default: {},
    description:
      'Scopes by claim value: { mx-admins: admin }; other values are dropped. Default: values become scopes unchanged, except admin and service, which are dropped.',
  }),
  namespace: Type.String({ default: 'mx', description: 'Namespace of the accounts.' }),
  required: Type.Boolean({
    default: true,
    description: 'Reject requests without a token, unless another plugin authenticated them.',
  }),
  forwardToken: Type.Boolean({
    default: false,
    description: 'Forward tokens to services and backends.',
  }),
})

/** Tolerated clock difference. */
const SKEW_S = 30
const TOKEN_MAX = 16 * 1024
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Maximum number of cached verified tokens. */
const VERIFIED_MAX = 10_000
/** Maximum number of cached invalid tokens. The cache ensures that each is logged once. */
const INVALID_MAX = 1000
const INVALID_TOKEN = 'invalid or expired access token; log in again'
const CHALLENGE = 'Bearer error="invalid_token"'

/**
 * Authenticates callers by access tokens from an external issuer (OpenID Connect, RFC 9068). Checks signature, issuer,
 * audience and times, caches the issuer's keys, and maps the claims to an account.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'oidc',
  description: 'Authenticates callers by tokens from an OpenID Connect issuer.',
  options,
  create(settings, env) {
    const { log, nowMs } = env
    const egress =
      env.egress ?? createEgressPolicy({ registerAllow: [], egressAllow: [], rpcAddressAllow: [] })
    const { issuer, audience, jwksUri, algorithms, required, forwardToken } = settings
    checkUrl(issuer, 'issuer')
    if (jwksUri !== '') checkUrl(jwksUri, 'jwksUri')
    const known = new LRUCache<string, Session>({
      max: VERIFIED_MAX,
      maxSize: 32 * 1024 ** 2,
      sizeCalculation: (_, token) => token.length,
    })
    const invalid = new LRUCache<string, true>({ max: INVALID_MAX })
    const onClosed = (): void => known.clear()
    const keys = createIssuerKeys({ issuer, jwksUri, egress, log, onClosed, nowMs })
    const verifying = new Map<string, Promise<Session>>()

    async function verify(token: string): Promise<Session> {
      try {
        // Checked before fetching any key, since tokens from other issuers must not cause requests.
        if (!FORM.test(token) || token.length > TOKEN_MAX) throw new errors.JWTInvalid('malformed')
        if (decodeJwt(token).iss !== issuer)
          throw denyAuthentication(GATEWAY_ID, INVALID_TOKEN, CHALLENGE)
        const { payload } = await jwtVerify(token, keys.find, {
          ...{ issuer, audience, algorithms, clockTolerance: SKEW_S },
          currentDate: new Date(nowMs()),
          requiredClaims: ['exp'],
        })
        const account = toAccount(payload, settings)
        if (account === undefined) throw new errors.JWTInvalid(`missing claim ${settings.idClaim}`)
        const { exp = 0, iat = 0, jti = '' } = payload
        const session: Session = {
          account,
          id: jti,
          issuedMs: iat * 1000,
          endsMs: (exp + SKEW_S) * 1000,
        }
        known.set(token, session)
        return session
      } catch (error) {
        throw toGatewayError(token, error as Error)
      }
    }

    function toGatewayError(token: string, error: Error): GatewayError {
      // Not logged: a token from another issuer may be intended for another plugin.
      if (error instanceof GatewayError) return error
      if (!(error instanceof errors.JOSEError))
        return new GatewayError(
          GATEWAY_ID,
          503,
          'the signing keys of the token issuer are unavailable; retry later',
          {
            ...{ cause: error, headers: ['retry-after', '5'] },
          },
        )
      const tail = token.slice(-86)
      if (!invalid.has(tail)) {
        invalid.set(tail, true)
        log.info({ issuer, reason: error.message }, 'invalid access token')
      }
      return denyAuthentication(GATEWAY_ID, INVALID_TOKEN, CHALLENGE)
    }

    return createIdentity({
      identify({ headers }) {
        const authorization = headers.get('authorization')
        const token = authorization && readBearer(authorization)
        if (token === undefined || token === '') return undefined
        if (headers.getAll('authorization').length > 1)
          throw new GatewayError(GATEWAY_ID, 400, 'expected one Authorization header, got several')
        const session = known.get(token)
        if (session !== undefined && session.endsMs > nowMs()) return session
        let pending = verifying.get(token)
        if (pending === undefined) {
          pending = verify(token).finally(() => verifying.delete(token))
          verifying.set(token, pending)
        }
        return pending
      },
      detail: `access token from ${issuer} required`,
      challenge: 'Bearer',
      hide: forwardToken ? undefined : (x) => x.headers.delete('authorization'),
      ...{ required, nowMs },
    })
  },
})

export default plugin

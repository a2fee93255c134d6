import { decodeJwt, errors, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { createIdentity, denyAuthentication } from '../core/auth/authentication-hooks.ts'
import { readBearer } from '../core/auth/token/bearer.ts'
import type { Session } from '../core/contracts/auth.ts'
import { createEgressPolicy } from '../core/egress/egress-policy.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { checkUrl, createIssuerKeys } from './oidc/issuer-keys.ts'
import { toAccount } from './oidc/to-account.ts'

/** Signatures that only their maker can make (RFC 8725 §3.1, §3.2). */
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
  issuer: Type.String({ description: 'Whose tokens are taken: their `iss`, an https:// URL.' }),
  audience: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    description: 'Whom tokens must be for: one of these is their `aud`.',
  }),
  jwksUri: Type.String({
    default: '',
    description: 'Where the keys are; without it the issuer tells, by OpenID Connect Discovery.',
  }),
  algorithms: Type.Array(Type.Union(ALGORITHMS.map((name) => Type.Literal(name))), {
    default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    minItems: 1,
    description: 'Algorithms of signatures that are taken.',
  }),
  idClaim: Type.String({ default: 'sub', description: 'Claim that is the id of the account.' }),
  nameClaim: Type.String({ default: 'name', description: 'Claim that is its name.' }),
  scopesClaim: Type.String({
    default: 'scope',
    description: 'Claim that lists its scopes, or a path such as realm_access.roles.',
  }),
  scopes: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
    default: {},
    description:
      'Scopes by what the claim says: { mx-admins: admin }. Others are left out. Without it they are the same, but admin and service are left out.',
  }),
  namespace: Type.String({ default: 'mx', description: 'Namespace the accounts are of.' }),
  required: Type.Boolean({
    default: true,
    description:
      'Whether requests without a token are refused, unless another plugin knows who calls.',
  }),
  forwardToken: Type.Boolean({
    default: false,
    description: 'Whether tokens go on to services and backends.',
  }),
})

/** Clocks may differ by this much. */
const SKEW_S = 30
const TOKEN_MAX = 16 * 1024
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Tokens remembered, so that each is verified once. */
const REMEMBERED_MAX = 10_000
/** Refused tokens that are remembered, so that each is told once. */
const REFUSED_MAX = 1000
const REFUSED = 'invalid or expired access token; log in again'
const NOT_TAKEN = 'Bearer error="invalid_token"'

/**
 * Knows callers by access tokens of an issuer elsewhere (OpenID Connect, RFC 9068): signature, issuer, audience and times are checked,
 * the issuer's keys fetched and kept, its claims become an account.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'oidc',
  description: 'Knows callers by tokens of an OpenID Connect issuer.',
  options,
  create(given, env) {
    const { log, nowMs } = env
    const egress =
      env.egress ?? createEgressPolicy({ registerAllow: [], egressAllow: [], rpcAddressAllow: [] })
    const { issuer, audience, jwksUri, algorithms, required, forwardToken } = given
    checkUrl(issuer, 'issuer')
    if (jwksUri !== '') checkUrl(jwksUri, 'jwksUri')
    const known = new LRUCache<string, Session>({
      max: REMEMBERED_MAX,
      maxSize: 32 * 1024 ** 2,
      sizeCalculation: (_, token) => token.length,
    })
    const refused = new LRUCache<string, true>({ max: REFUSED_MAX })
    const onClosed = (): void => known.clear()
    const keys = createIssuerKeys({ issuer, jwksUri, egress, log, onClosed, nowMs })
    const verifying = new Map<string, Promise<Session>>()

    async function verify(token: string): Promise<Session> {
      try {
        // Before any key is asked for: those of others are no concern of the issuer.
        if (!FORM.test(token) || token.length > TOKEN_MAX) throw new errors.JWTInvalid('malformed')
        if (decodeJwt(token).iss !== issuer)
          throw denyAuthentication(GATEWAY_ID, REFUSED, NOT_TAKEN)
        const { payload } = await jwtVerify(token, keys.find, {
          ...{ issuer, audience, algorithms, clockTolerance: SKEW_S },
          currentDate: new Date(nowMs()),
          requiredClaims: ['exp'],
        })
        const account = toAccount(payload, given)
        if (account === undefined) throw new errors.JWTInvalid(`without ${given.idClaim}`)
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
        throw toRefusal(token, error as Error)
      }
    }

    function toRefusal(token: string, error: Error): GatewayError {
      // Of another issuer: perhaps another plugin's, and nothing to tell of.
      if (error instanceof GatewayError) return error
      if (!(error instanceof errors.JOSEError))
        return new GatewayError(
          GATEWAY_ID,
          503,
          'the keys of access tokens are not known, try again',
          {
            ...{ cause: error, headers: ['retry-after', '5'] },
          },
        )
      const tail = token.slice(-86)
      if (!refused.has(tail)) {
        refused.set(tail, true)
        log.info({ issuer, reason: error.message }, 'invalid access token')
      }
      return denyAuthentication(GATEWAY_ID, REFUSED, NOT_TAKEN)
    }

    return createIdentity({
      identify({ headers }) {
        const authorization = headers.get('authorization')
        const token = authorization && readBearer(authorization)
        if (token === undefined || token === '') return undefined
        if (headers.getAll('authorization').length > 1)
          throw new GatewayError(GATEWAY_ID, 400, 'one field Authorization expected, got several')
        const session = known.get(token)
        if (session !== undefined && session.endsMs > nowMs()) return session
        let pending = verifying.get(token)
        if (pending === undefined) {
          pending = verify(token).finally(() => verifying.delete(token))
          verifying.set(token, pending)
        }
        return pending
      },
      detail: `an access token of ${issuer} is needed`,
      challenge: 'Bearer',
      hide: forwardToken ? undefined : (x) => x.headers.delete('authorization'),
      ...{ required, nowMs },
    })
  },
})

export default plugin

import type { JWTPayload } from 'jose'
import { isWorkloadScope } from '../../../core/auth/policy/account-rights.ts'
import type { Account } from '../../../core/contracts/auth.ts'

export interface AccountClaims {
  readonly issuer: string
  readonly idClaim: string
  readonly nameClaim: string
  readonly scopesClaim: string
  /** Scopes by claim value. If empty, values become scopes unchanged. */
  readonly scopes: Readonly<Record<string, string>>
  readonly namespace: string
}

/** Scopes with a meaning in the platform, which an external issuer must not grant without a mapping. */
const PLATFORM_SCOPES: ReadonlySet<string> = new Set(['admin', 'service', '', '*', '+'])
const LENGTH_MAX = 256

/**
 * Maps the claims of a token to an account. Returns undefined without a valid id claim.
 *
 * The id starts with the issuer, because a claim is only unique together with its issuer (OpenID Connect Core 1.0
 * §5.7): a user named admin there must not revoke the tokens of admin here. Platform ids contain no slash, and issuers
 * no `#`, so no other account has this id.
 */
export function toAccount(payload: JWTPayload, claims: AccountClaims): Account | undefined {
  const { issuer, idClaim, nameClaim, scopesClaim, scopes, namespace } = claims
  const id = read(payload, idClaim)
  if (typeof id !== 'string' || id === '' || id.length > LENGTH_MAX) return undefined
  const name = read(payload, nameClaim)
  return {
    id: `${issuer}#${id}`,
    name: typeof name === 'string' && name !== '' ? name.slice(0, LENGTH_MAX) : id,
    type: 'user',
    issuer: namespace,
    scopes: toScopes(read(payload, scopesClaim), scopes),
    metadata: {},
  }
}

/** Accepts an array, or a space-separated string (RFC 8693 §4.2). */
function toScopes(value: unknown, map: AccountClaims['scopes']): string[] {
  const texts = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  const values = texts.filter((text): text is string => typeof text === 'string')
  const isMapped = Object.keys(map).length > 0
  const scopes = isMapped
    ? values.flatMap((text) => (Object.hasOwn(map, text) ? [map[text]!] : []))
    : values.filter((text) => !PLATFORM_SCOPES.has(text) && !isWorkloadScope(text))
  return [...new Set(scopes)]
}

/** Reads a claim by name, or else by path, such as `realm_access.roles`. */
function read(payload: JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path]
  let value: unknown = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

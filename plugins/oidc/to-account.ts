import type { JWTPayload } from 'jose'
import { isWorkloadScope } from '../../core/auth/policy/account-rights.ts'
import type { Account } from '../../core/contracts/auth.ts'

export interface AccountClaims {
  readonly idClaim: string
  readonly nameClaim: string
  readonly scopesClaim: string
  /** Scopes of accounts, by what the claim says; empty: they are the same. */
  readonly scopes: Readonly<Record<string, string>>
  readonly namespace: string
}

/** Scopes that the platform gives: another issuer's words for something else must not become them. */
const OWN: ReadonlySet<string> = new Set(['admin', 'service', '', '*', '+'])
const LENGTH_MAX = 256

/** The account of whom a token is; undefined when it does not say that. */
export function toAccount(payload: JWTPayload, claims: AccountClaims): Account | undefined {
  const { idClaim, nameClaim, scopesClaim, scopes, namespace } = claims
  const id = read(payload, idClaim)
  if (typeof id !== 'string' || id === '' || id.length > LENGTH_MAX) return undefined
  const name = read(payload, nameClaim)
  return {
    id,
    name: typeof name === 'string' && name !== '' ? name.slice(0, LENGTH_MAX) : id,
    type: 'user',
    issuer: namespace,
    scopes: toScopes(read(payload, scopesClaim), scopes),
    metadata: {},
  }
}

/** Texts of a list, or of one text parted by blanks (RFC 8693 §4.2). */
function toScopes(value: unknown, map: AccountClaims['scopes']): string[] {
  const texts = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  const given = texts.filter((text): text is string => typeof text === 'string')
  const isMapped = Object.keys(map).length > 0
  const scopes = isMapped
    ? given.flatMap((text) => (Object.hasOwn(map, text) ? [map[text]!] : []))
    : given.filter((text) => !OWN.has(text) && !isWorkloadScope(text))
  return [...new Set(scopes)]
}

/** The claim of that name, else the one at that path: `realm_access.roles`. */
function read(payload: JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path]
  let value: unknown = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

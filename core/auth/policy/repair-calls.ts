import type { Account, Resource } from '../../contracts/auth.ts'
import { isOperator } from './account-rights.ts'

const AUTH = 'auth'
const LOGIN = 'auth.token'
/** Prefixes of endpoints that repair access, in lower case. */
const REPAIR_PREFIXES = ['rules.', 'accounts.'] as const

/**
 * True if no rule can deny a call (decision 32): operators can always call `Auth.Token`, `Rules.*` and `Accounts.*` of
 * `auth`. Otherwise one wrong rule could lock out everyone permanently.
 */
export function isAlwaysAllowed(account: Account | undefined, resource: Resource): boolean {
  if (resource.name !== AUTH || account === undefined || !isOperator(account)) return false
  if (resource.type !== 'service') return false
  const endpoint = resource.endpoint.toLowerCase()
  return endpoint === LOGIN || REPAIR_PREFIXES.some((prefix) => endpoint.startsWith(prefix))
}

/**
 * True for logins. The gateway and the RPC proxy always forward them; `auth` authenticates the caller and then applies
 * the rules.
 */
export function isLogin({ type, name, endpoint }: Resource): boolean {
  return name === AUTH && type === 'service' && endpoint.toLowerCase() === LOGIN
}

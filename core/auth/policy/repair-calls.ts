import type { Account, Resource } from '../../contracts/auth.ts'
import { isOperator } from './account-rights.ts'

/** Service that keeps accounts and rules. */
const AUTH = 'auth'
const LOGIN = 'auth.token'
/** Prefixes of the endpoints that repair access, in lower case. */
const REPAIRS = ['rules.', 'accounts.'] as const

/**
 * Whether no rule can deny a call (decision 32): an operator always reaches `Auth.Token`, `Rules.*` and `Accounts.*` of
 * `auth`. Otherwise one wrong rule would lock everybody out for good.
 */
export function isAlwaysAllowed(account: Account | undefined, resource: Resource): boolean {
  if (resource.name !== AUTH || account === undefined || !isOperator(account)) return false
  if (resource.type !== 'service') return false
  const endpoint = resource.endpoint.toLowerCase()
  return endpoint === LOGIN || REPAIRS.some((prefix) => endpoint.startsWith(prefix))
}

/**
 * Whether a call is a login. Gateway and RPC proxy always forward it: who calls is known only once `auth` has verified
 * the credentials, and `auth` applies the rules then.
 */
export function isLogin({ type, name, endpoint }: Resource): boolean {
  return name === AUTH && type === 'service' && endpoint.toLowerCase() === LOGIN
}

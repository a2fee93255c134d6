import type { Account, Resource } from '../../contracts/auth.ts'
import { isOperator } from './account-rights.ts'

const AUTH = 'auth'
const LOGIN = 'auth.token'
/** Prefixes of the endpoints that repair access, in lower case. */
const REPAIRS = ['rules.', 'accounts.'] as const

/**
 * True if no rule can deny a call (decision 32): operators always reach `Auth.Token`, `Rules.*` and `Accounts.*` of
 * `auth`. Otherwise one wrong rule could lock out everybody permanently.
 */
export function isAlwaysAllowed(account: Account | undefined, resource: Resource): boolean {
  if (resource.name !== AUTH || account === undefined || !isOperator(account)) return false
  if (resource.type !== 'service') return false
  const endpoint = resource.endpoint.toLowerCase()
  return endpoint === LOGIN || REPAIRS.some((prefix) => endpoint.startsWith(prefix))
}

/**
 * True for a login. Gateway and RPC proxy always forward it: the caller is authenticated by `auth`, which applies the
 * rules then.
 */
export function isLogin({ type, name, endpoint }: Resource): boolean {
  return name === AUTH && type === 'service' && endpoint.toLowerCase() === LOGIN
}

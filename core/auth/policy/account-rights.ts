import type { Account } from '../../contracts/auth.ts'
import { DEFAULT_DOMAIN } from '../../registry/service.ts'
import { isServiceName } from '../../registry/service-name.ts'

/** Scope of the administrators of a namespace; in the `mx` namespace, of operators. */
export const ADMIN = 'admin'
/** Scope of external services: any service of the account's namespace. */
export const SERVICE = 'service'
/** Prefix of the scopes that name one service: `workload:<namespace>/<name>` (decision 30). */
const WORKLOAD = 'workload:'

/** Account fields that determine the rights of the account. */
export type ScopedAccount = Pick<Account, 'issuer' | 'scopes'>

/** True for operators of the platform: accounts with the `admin` scope in the `mx` namespace. */
export function isOperator({ issuer, scopes }: ScopedAccount): boolean {
  return issuer === DEFAULT_DOMAIN && scopes.includes(ADMIN)
}

/** True for administrators of a namespace. Operators administer every namespace. */
export function isAdminOf({ issuer, scopes }: ScopedAccount, namespace: string): boolean {
  return scopes.includes(ADMIN) && (issuer === namespace || issuer === DEFAULT_DOMAIN)
}

/**
 * True if an account may act as a service of a namespace: register it, use its table, and read its configuration.
 *
 * @param service full name. @default any service of the namespace, for resources they share
 */
export function canActAs(account: ScopedAccount, namespace: string, service?: string): boolean {
  if (isAdminOf(account, namespace)) return true
  const { issuer, scopes } = account
  if (issuer !== namespace) return false
  if (scopes.includes(SERVICE)) return true
  return service === undefined
    ? scopes.some((scope) => scope.startsWith(toWorkloadScope(namespace, '')))
    : scopes.includes(toWorkloadScope(namespace, service))
}

/** True for an account limited to the services in its workload scopes. */
export function isWorkload({ scopes }: Pick<Account, 'scopes'>): boolean {
  return scopes.some(isWorkloadScope) && !scopes.includes(ADMIN) && !scopes.includes(SERVICE)
}

/** The workload scope of a service: `workload:<namespace>/<name>`. */
export function toWorkloadScope(namespace: string, service: string): string {
  return `${WORKLOAD}${namespace}/${service}`
}

/** True if a scope starts with the prefix of workload scopes, even if it is malformed. */
export function isWorkloadScope(scope: string): boolean {
  return scope.startsWith(WORKLOAD)
}

/** Parses a workload scope. Returns undefined if it is malformed or another kind of scope. */
export function parseWorkloadScope(
  scope: string,
): { readonly namespace: string; readonly service: string } | undefined {
  if (!isWorkloadScope(scope)) return undefined
  const [namespace = '', service = '', ...more] = scope.slice(WORKLOAD.length).split('/')
  const isValid = more.length === 0 && isServiceName(namespace) && isServiceName(service)
  return isValid ? { namespace, service } : undefined
}

import { isOperator, type ScopedAccount } from './account-rights.ts'

/**
 * True if an account belongs to a namespace. Operators belong to every namespace, but workloads and services of `mx`
 * do not.
 */
export function belongsTo(account: ScopedAccount, namespace: string): boolean {
  return account.issuer === namespace || isOperator(account)
}

import type { Account } from '../contracts/auth.ts'
import { DEFAULT_DOMAIN } from '../service-entry.ts'

/** Whether an account operates the platform: it is of its namespace, with the scope `admin`. */
export function isOperator({ issuer, scopes }: Pick<Account, 'issuer' | 'scopes'>): boolean {
  return issuer === DEFAULT_DOMAIN && scopes.includes('admin')
}

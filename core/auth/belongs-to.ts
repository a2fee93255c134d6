import type { Account } from '../contracts/auth.ts'
import { DEFAULT_DOMAIN } from '../service-entry.ts'

/** What services know of their callers will do. */
type Caller = Pick<Account, 'issuer' | 'scopes'> & { readonly type: string }

/** Whether an account belongs to a namespace: it is of it, or a service or an administrator of the platform (reference 2.2). */
export function belongsTo({ issuer, type, scopes }: Caller, namespace: string): boolean {
  if (issuer === namespace) return true
  return issuer === DEFAULT_DOMAIN && (type === 'service' || scopes.includes('admin'))
}

import type { Account } from '../contracts/auth.ts'
import { DEFAULT_DOMAIN } from '../service-entry.ts'

/** Whether an account belongs to a namespace: it is of it, or a service or an administrator of the platform (reference 2.2). */
export function belongsTo({ issuer, type, scopes }: Account, namespace: string): boolean {
  if (issuer === namespace) return true
  return issuer === DEFAULT_DOMAIN && (type === 'service' || scopes.includes('admin'))
}

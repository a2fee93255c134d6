import { session } from './session.ts'

/** Scopes that administer a namespace (reference 2.2). */
const ADMIN_SCOPES = ['admin', 'service']

/** Whether who is logged in can be an administrator: pages say so before somebody tries. The services decide. */
export function isAdmin(): boolean {
  const scopes = session.value?.account.scopes ?? []
  return ADMIN_SCOPES.some((scope) => scopes.includes(scope))
}

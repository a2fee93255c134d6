import { session } from './session.ts'

/**
 * True if the account administers its namespace. Used only to disable controls, because the services authorize calls.
 */
export function isAdmin(): boolean {
  return session.value?.account.scopes.includes('admin') ?? false
}

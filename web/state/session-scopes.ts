import { session } from './session.ts'

/** Whether the account administers its namespace. For disabling controls only: the services authorize. */
export function isAdmin(): boolean {
  return session.value?.account.scopes.includes('admin') ?? false
}

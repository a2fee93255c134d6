import { session } from './session.ts'

/** Whether the logged-in account can administer its namespace. Pages disable actions by it; the services decide. */
export function isAdmin(): boolean {
  return session.value?.account.scopes.includes('admin') ?? false
}

import type { Resource } from '../../contracts/auth.ts'

/** Endpoints that anonymous callers need to log in, in lower case. */
const ENDPOINTS: ReadonlySet<string> = new Set(['auth.token', 'auth.keys'])

/**
 * True for login endpoints, which are accessible with an invalid token and before the rules are loaded. Loaded rules
 * apply to them.
 */
export function isLoginEndpoint({ type, name, endpoint }: Resource): boolean {
  return type === 'service' && name === 'auth' && ENDPOINTS.has(endpoint.toLowerCase())
}

import type { Resource } from '../../contracts/auth.ts'

/** Endpoints by which anybody becomes known, in lower case. */
const ENDPOINTS: ReadonlySet<string> = new Set(['auth.token', 'auth.keys'])

/**
 * Whether a resource is a way to log in: a token that is not taken keeps nobody from it, nor do rules that are not known yet.
 * Rules that are known do.
 */
export function isLoginEndpoint({ type, name, endpoint }: Resource): boolean {
  return type === 'service' && name === 'auth' && ENDPOINTS.has(endpoint.toLowerCase())
}

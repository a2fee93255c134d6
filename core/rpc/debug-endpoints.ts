/** Prefix of the endpoints that expose internals to operators. */
const DEBUG_PREFIX = 'Debug.'
/** Provided by every service without being declared. Public, unlike other debug endpoints. */
export const HEALTH: string = 'Debug.Health'

/** True if an endpoint is reserved for operators. */
export function isDebugEndpoint(endpoint: string): boolean {
  return endpoint.startsWith(DEBUG_PREFIX) && endpoint !== HEALTH
}

/**
 * True if gateway clients cannot call an endpoint with any account: debug endpoints, and links between servers. Links
 * need no account: they are opened at the RPC proxy, and their callers prove knowledge of the network token.
 */
export function isHiddenFromClients(service: string, endpoint: string): boolean {
  return isDebugEndpoint(endpoint) || (endpoint === 'Network.Link' && service === 'network')
}

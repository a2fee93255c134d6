/** What services tell of themselves is for operators, not for whoever may call them; that they are well, is. */
const INTERNAL = 'Debug.'
/** Of every service, though none declares it. */
export const HEALTH: string = 'Debug.Health'

/** Whether an endpoint is for those who run the platform. */
export function isDebugEndpoint(endpoint: string): boolean {
  return endpoint.startsWith(INTERNAL) && endpoint !== HEALTH
}

/**
 * Whether clients of a gateway cannot call an endpoint, whatever their account: those for operators, and the links between servers. A
 * link needs no account: it is opened at the RPC proxy, and its caller proves that it knows the token of the network.
 */
export function isHiddenFromClients(service: string, endpoint: string): boolean {
  return isDebugEndpoint(endpoint) || (endpoint === 'Network.Link' && service === 'network')
}

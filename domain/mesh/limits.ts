/**
 * Maximum number of servers on a route, including the last one. It is less than the number that
 * calls may pass through (`core/rpc/hops.ts`).
 */
export const MAX_HOPS = 8
/** Maximum number of linked servers in either direction. */
export const MAX_PEERS = 64
/** Maximum number of services and servers that a peer may advertise. */
export const MAX_DESTINATIONS = 10_000
/** Maximum size of an entry as JSON in bytes. */
export const MAX_ENTRY_BYTES: number = 256 * 1024
/** Maximum size of all entries of a peer as JSON in bytes. */
export const MAX_ADVERTISED_BYTES: number = 32 * 1024 * 1024
/** Maximum size of a message between servers in bytes. */
export const MAX_LINK_MESSAGE_BYTES: number = 1024 * 1024
/** Maximum cost of a link (`rtt.ts`). */
export const MAX_COST = 2000
/** Maximum cost of a route. */
export const MAX_METRIC: number = MAX_COST * MAX_HOPS

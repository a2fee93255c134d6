/** Servers a route may pass, the one that has what it leads to included. Less than calls may pass (`core/rpc/hops.ts`). */
export const MAX_HOPS = 8
/** Servers a server is linked with, in either direction. */
export const MAX_PEERS = 64
/** Services and servers a peer may tell of. */
export const MAX_DESTINATIONS = 10_000
/** Bytes of JSON that describe one of them. */
export const MAX_ENTRY_BYTES: number = 256 * 1024
/** Bytes of JSON that describe all that a peer tells of. */
export const MAX_ADVERTISED_BYTES: number = 32 * 1024 * 1024
/** Bytes of a message between servers. */
export const MAX_MESSAGE_BYTES: number = 1024 * 1024
/** Dearest link (`rtt.ts`). */
export const MAX_COST = 2000
/** Dearest route. */
export const MAX_METRIC: number = MAX_COST * MAX_HOPS

import type { Exchange } from '../../exchange.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'

/** A load balancer for a fixed set of usable nodes. */
export interface Balancer {
  /** Returns undefined if there is no node, and a node in `tried` only if there is no other. Allocates nothing. */
  readonly pick: (
    x: Exchange | undefined,
    tried: UpstreamNode | undefined,
  ) => UpstreamNode | undefined
  /** True for a client with a sticky session, whose request must not be used to probe an ejected node. */
  readonly isBound?: (x: Exchange | undefined) => boolean
}

/** Load-balancing policies; all respect node weights. */
export type BalanceKind =
  | 'round-robin'
  | 'random'
  | 'p2c'
  | 'least-conn'
  | 'ewma'
  | 'hash'
  | 'maglev'

export interface BalanceOptions {
  /**
   * - `round-robin`: nodes in turn.
   * - `random`: a random node.
   * - `p2c`: of two random nodes, the one with fewer requests in flight.
   * - `least-conn`: the node with the fewest requests in flight.
   * - `ewma`: of two random nodes, the one with the lower expected latency.
   * - `hash`: the same node for the same value of a part of the request.
   * - `maglev`: like `hash`, with a table that is faster for many nodes and provides more even shares.
   */
  readonly kind: BalanceKind
  /** Hash key for `hash` and `maglev`. @default ip */
  readonly hashOf?: HashSource
  /** Sticky sessions: a cookie binds a client to the node selected by `kind`. */
  readonly sticky?: StickyOptions
}

/** The part of a request that is hashed. */
export interface HashSource {
  readonly from: 'header' | 'cookie' | 'ip' | 'path'
  /** Name of the header (lower case) or cookie; empty otherwise. */
  readonly name: string
}

/** Cookie of a sticky session. */
export interface StickyOptions {
  /**
   * Cookie name for all services. @default one name per service, so that services on the same host do not overwrite
   * each other's cookies
   */
  readonly cookie?: string
  /** HMAC key for the node in the cookie, which hides node ids from clients. All gateways need the same key. */
  readonly secret?: string
}

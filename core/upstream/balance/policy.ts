import type { Exchange } from '../../exchange.ts'
import type { UpstreamNode } from '../node-health.ts'

/** Chooses among the usable nodes it was built for. */
export interface Balancer {
  /** Undefined when there is no node; `tried` only when there is no other. Allocates nothing. */
  readonly pick: (
    x: Exchange | undefined,
    tried: UpstreamNode | undefined,
  ) => UpstreamNode | undefined
  /** Whether the client counts on its node, so that its request must not find out if another one is back. */
  readonly isBound?: (x: Exchange | undefined) => boolean
}

/** The ways to choose, each by weight. */
export type BalanceKind = 'round-robin' | 'random' | 'p2c' | 'least-conn' | 'hash'

/** How the nodes of a service are chosen. */
export interface BalanceOptions {
  /**
   * - `round-robin`: in turn.
   * - `random`: drawn.
   * - `p2c`: of two drawn, the one with fewer requests in flight.
   * - `least-conn`: of all, the one with the fewest requests in flight.
   * - `hash`: by a part of the request, the same node for the same part.
   */
  readonly kind: BalanceKind
  /** What `hash` looks at. @default ip */
  readonly hashOf?: HashSource
  /** Binds every client to a node by a cookie; `kind` chooses that node. */
  readonly sticky?: StickyOptions
}

/** The part of a request that decides about the node. */
export interface HashSource {
  readonly from: 'header' | 'cookie' | 'ip' | 'path'
  /** Of the header (lower case) or the cookie; empty for the others. */
  readonly name: string
}

/** A cookie that binds a client to the node that answered it first. */
export interface StickyOptions {
  /** Name of the cookie, for all services. @default one name per service, so that services on one host do not overwrite each other's */
  readonly cookie?: string
  /** Key of the hash that stands for a node. With it nobody outside can tell a node's id from the cookie; all gateways need the same. */
  readonly secret?: string
}

import type { Exchange } from '../exchange.ts'
import type { UpstreamNode } from './node.ts'
import type { StickyOptions } from './sticky.ts'

/** Chooses among the usable nodes it was built for. */
export interface Balancer {
  /** Undefined when there is no node; `tried` only when there is no other. Allocates nothing. */
  readonly pick: (x: Exchange, tried: UpstreamNode | undefined) => UpstreamNode | undefined
}

/** How the nodes of a service are chosen. */
export interface BalanceOptions {
  readonly kind: 'round-robin' | 'random' | 'p2c' | 'least-conn' | 'hash'
  /** What `hash` looks at. */
  readonly hashOf?: HashSource
  /** Binds every client to a node by a cookie. */
  readonly sticky?: StickyOptions
}

/** The part of a request that decides about the node. `name`: of the header (lower case) or cookie. */
export interface HashSource {
  readonly from: 'header' | 'cookie' | 'ip' | 'path'
  readonly name: string
}

export function createBalancer(
  _options: BalanceOptions = { kind: 'round-robin' },
  nodes: readonly UpstreamNode[] = [],
  _random: () => number = Math.random,
): Balancer {
  let cursor = 0
  return { pick: () => nodes[cursor++ % nodes.length] }
}

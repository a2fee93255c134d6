import type { UpstreamNode } from '../upstream/node/upstream-node.ts'

/** Destination of an explicit call (`/rpc`), selected by its route step. */
export interface ExplicitTarget {
  /** JSON of the request; undefined if missing. */
  readonly request: string | undefined
  /** The only node to call; undefined for any node. */
  readonly node: UpstreamNode | undefined
  /** Whether the caller supplied an address that is not in the registry. */
  readonly isUnlisted: boolean
}

import type { UpstreamNode } from '../upstream/node/upstream-node.ts'

/** Destination of an explicit call (`/rpc`), chosen by its route step. */
export interface ExplicitTarget {
  /** JSON of the request; undefined: missing. */
  readonly request: string | undefined
  /** The only node to call; undefined: any. */
  readonly node: UpstreamNode | undefined
  /** Whether the address is not in the registry: the caller chose it. */
  readonly isUnlisted: boolean
}

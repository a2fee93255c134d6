import type { FailureKind } from './call.ts'

/** What a repeated attempt depends on. */
export interface Attempt {
  /** Attempts made so far, the failed one included. */
  readonly attempts: number
  /** Nodes of the service. */
  readonly nodes: number
  /** May be sent twice without harm, and has no body that is gone by now. */
  readonly repeatable: boolean
  /** A byte of the reply had arrived. */
  readonly replying: boolean
}

/** Most nodes tried for one request. */
const NODES_MAX = 5

/**
 * Whether a failed attempt may be followed by another (RFC 9110 §9.2.2): on another
 * node when the request certainly never reached a backend, once more when repeating
 * it does no harm and no reply had begun, else never.
 */
export function mayRetry(
  kind: FailureKind,
  { attempts, nodes, repeatable, replying }: Attempt,
): boolean {
  switch (kind) {
    case 'connect':
    case 'connect-timeout':
    case 'full':
      return attempts < Math.min(nodes, NODES_MAX)
    case 'closed':
      return repeatable && !replying && attempts < 2
    default:
      return false
  }
}

import type { FailureKind } from './call.ts'

/** What a repeated attempt depends on. */
export interface Attempt {
  /** Attempts made so far, the failed one included. */
  readonly attempts: number
  /** There is a node it was not tried on (`tried-nodes.ts`). */
  readonly another: boolean
  /** It failed on a connection that had served others: its end may have crossed the request, and says nothing about the node. */
  readonly kept: boolean
  /** May be sent twice without harm, and has no body that is gone by now. */
  readonly repeatable: boolean
  /** A byte of the reply had arrived. */
  readonly replying: boolean
}

/**
 * Whether a failed attempt may be followed by another (RFC 9110 §9.2.2): on another
 * node when the request certainly never reached a backend, once more when repeating
 * it does no harm and no reply had begun, else never. On the same node only where it lost a connection that was kept.
 */
export function mayRetry(
  kind: FailureKind,
  { attempts, another, kept, repeatable, replying }: Attempt,
): boolean {
  switch (kind) {
    case 'connect':
    case 'connect-timeout':
    case 'full':
      return another
    case 'closed':
      return repeatable && !replying && attempts < 2 && (another || kept)
    default:
      return false
  }
}

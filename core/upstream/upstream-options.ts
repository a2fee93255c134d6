import type { Node } from '../contracts/registry.ts'
import type { BalanceOptions } from './balance/policy.ts'
import type { CheckLoad } from './health/active-checks.ts'
import type { ShareCheck } from './health/shared-check.ts'
import type { NodeOptions, UpstreamNode } from './node/upstream-node.ts'
import type { UpstreamPolicies } from './policies/policies.ts'

export interface UpstreamOptions extends NodeOptions {
  /** Domain of the service. @default mx */
  readonly domain?: string
  /** Load-balancing policy. @default round-robin */
  readonly balance?: BalanceOptions
  /** @default {@link DEFAULT_POLICIES} */
  readonly policies?: UpstreamPolicies | undefined
  /**
   * Applies settings from the service metadata (`mx/...`) when they change, and returns the resulting options.
   *
   * @default settings are ignored
   */
  readonly onSettings?:
    | ((
        metadata: Readonly<Record<string, string>>,
      ) => Pick<UpstreamOptions, 'balance' | 'host' | 'policies'>)
    | undefined
  /** Monotonic clock in milliseconds. @default a clock with a resolution of 100 ms */
  readonly nowMs?: () => number
  /** Returns 32 random bits as a signed integer. @default seeded by Math.random */
  readonly randomBits?: () => number
  /** Called once for each unusable registry entry. */
  readonly onSkip?: (node: Node, reason: string) => void
  /** Called when a node is ejected for `forMs` milliseconds. */
  readonly onEject?: (node: UpstreamNode, forMs: number) => void
  /** Called when a request or call is retried. */
  readonly onRetry?: (() => void) | undefined
  /** Called with the reason when health checks of a node fail, and with an empty text when they pass again. */
  readonly onHealth?: (node: UpstreamNode, reason: string) => void
  /** Called when an ejected node returns. */
  readonly onReturn?: (node: UpstreamNode) => void
  /** Called when the circuit breaker of a node, or of the service if undefined, opens or closes. */
  readonly onBreaker?: (node: UpstreamNode | undefined, isOpen: boolean) => void
  /** Shares health checks with other processes of the gateway. @default this process checks its nodes */
  readonly shareCheck?: ShareCheck | undefined
  /** Health check load of the namespace. @default load of this service */
  readonly checkLoad?: CheckLoad
  /** Whether an operator drained the node with this id, so that it gets no requests. @default no node is drained */
  readonly isDrained?: (id: string) => boolean
  /** Called when a node refuses a connection. Returns true if the node was removed. */
  readonly onConnectionRefused?: (node: UpstreamNode) => boolean
}

/**
 * Returns the options of a service by its name and domain.
 *
 * @param domain @default mx
 */
export type FindUpstreamOptions = (service: string, domain?: string) => UpstreamOptions

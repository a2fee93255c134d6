import type { Exchange } from '../../exchange.ts'
import type { OutlierDetector } from '../health/outlier-detection.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import type { UpstreamPolicies } from '../policies/policies.ts'
import { createBalancer } from './balancer.ts'
import type { BalanceOptions, Balancer } from './policy.ts'
import { selectNodes } from './select-nodes.ts'
import { SlowStart } from './slow-start.ts'
import { createSticky, type Sticky } from './sticky.ts'
import { pickWeighted } from './weighted.ts'

/**
 * Selects one of the usable nodes of a service. The balancer is built on the first use after a change; afterwards
 * `pick` only reads tables.
 */
export class NodePicker {
  /**
   * Number of requests in flight at which a node is full and only picked if all other nodes are full; 0 for no limit.
   */
  maxPerNode = 0
  readonly slowStart: SlowStart
  readonly #service: string
  readonly #health: OutlierDetector
  readonly #nowMs: () => number
  readonly #randomBits: () => number
  #policies: UpstreamPolicies
  #balance: BalanceOptions = { kind: 'round-robin' }
  #sticky: Sticky | undefined = undefined
  /** Undefined if nodes or options have changed. */
  #balancer: Balancer | undefined = undefined

  /** @param service name for the cookie of sticky sessions. */
  constructor(
    service: string,
    health: OutlierDetector,
    policies: UpstreamPolicies,
    nowMs: () => number,
    randomBits: () => number,
  ) {
    this.#service = service
    this.#health = health
    this.#policies = policies
    this.#nowMs = nowMs
    this.#randomBits = randomBits
    this.slowStart = new SlowStart(policies.slowStartMs)
  }

  get sticky(): Sticky | undefined {
    return this.#sticky
  }

  get kind(): BalanceOptions['kind'] {
    return this.#balance.kind
  }

  /** Changes the options, which apply after the next {@link reset}. */
  configure(policies: UpstreamPolicies, balance: BalanceOptions = { kind: 'round-robin' }): void {
    this.#policies = policies
    if (policies.concurrency?.per !== 'node') this.maxPerNode = 0
    this.#balance = balance
    this.#health.isComparable =
      balance.kind !== 'hash' && balance.kind !== 'maglev' && balance.sticky === undefined
    this.#sticky = balance.sticky && createSticky(this.#service, balance.sticky)
  }

  /** Applies changed nodes. Thousands of nodes may change between two requests, for example by health checks. */
  reset(): void {
    this.#balancer = undefined
  }

  get #current(): Balancer {
    this.#balancer ??= this.#build()
    return this.#balancer
  }

  #build(): Balancer {
    const { usable, nodes } = this.#health
    const hasUnhealthy = usable.some((node) => node.isUnhealthy)
    const healthy = hasUnhealthy ? usable.filter((node) => !node.isUnhealthy) : usable
    const selected = selectNodes(nodes, healthy, this.#policies)
    const balancer = createBalancer(this.#balance, selected, this.#randomBits)
    return this.#sticky?.wrap(balancer, selected) ?? balancer
  }

  /** See `Upstream.pick`. */
  pick(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[] | undefined,
  ): UpstreamNode | undefined {
    if (tried !== undefined && tried.length > 0) return this.#pickUntried(x, last, tried)
    const balancer = this.#current
    if (this.#health.nextTrialMs !== Number.POSITIVE_INFINITY && balancer.isBound?.(x) !== true) {
      const node = this.#health.takeTrial(this.#nowMs(), last)
      if (node !== undefined) return node
    }
    const picked = balancer.pick(x, last)
    const node = this.slowStart.isActive ? this.#replaceStarting(picked, x) : picked
    return this.maxPerNode === 0 ? node : this.#replaceFull(node)
  }

  /** Returns the usable nodes that have not been tried, or else the ejected ones. */
  others(tried: readonly UpstreamNode[]): readonly UpstreamNode[] {
    const { usable, nodes } = this.#health
    const isOther = (node: UpstreamNode): boolean => !tried.includes(node)
    const candidates = usable.filter((node) => isOther(node) && !node.isUnhealthy)
    return candidates.length > 0 ? candidates : nodes.filter(isOther)
  }

  #pickUntried(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    // Each failed attempt may eject its node, so the balancer would repeatedly be built for a single request.
    const node = tried.length === 1 ? this.#current.pick(x, last) : undefined
    if (node !== undefined && !tried.includes(node)) return node
    const others = this.others(tried)
    const selected = selectNodes(others, others, this.#policies)
    const { kind } = this.#balance
    if (kind === 'round-robin' || kind === 'random') return pickWeighted(selected, this.#randomBits)
    // For a single request, building a table costs more than its more even shares are worth.
    const balance = kind === 'maglev' ? { ...this.#balance, kind: 'hash' as const } : this.#balance
    return createBalancer(balance, selected, this.#randomBits).pick(x, last)
  }

  /** Replaces a node in its slow start with another node, except for its current share of requests. */
  #replaceStarting(
    node: UpstreamNode | undefined,
    x: Exchange | undefined,
  ): UpstreamNode | undefined {
    if (
      node === undefined ||
      this.slowStart.admits(node, this.#nowMs(), this.#randomBits()) ||
      this.#current.isBound?.(x)
    )
      return node
    return this.#current.pick(x, node)
  }

  /** Replaces a node at its concurrency limit with the node that has the fewest requests in flight. */
  #replaceFull(node: UpstreamNode | undefined): UpstreamNode | undefined {
    if (node === undefined || node.active < this.maxPerNode) return node
    const open = this.#health.usable.filter((each) => !each.isUnhealthy)
    return open.reduce((least, each) => (each.active < least.active ? each : least), node)
  }
}

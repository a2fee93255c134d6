import type { UpstreamNode } from '../node/upstream-node.ts'
import { Breaker, type BreakerOptions } from './breaker.ts'

/**
 * The circuit breakers of a service and its nodes. The breaker of the service only opens while all nodes are failing,
 * since a single failing node does not justify rejecting requests that other nodes can serve.
 */
export class CircuitBreakers {
  readonly options: BreakerOptions
  readonly #service: Breaker
  readonly #nodes = new Map<UpstreamNode, Breaker>()
  /** Nodes whose breaker is not closed. */
  readonly #open = new Set<UpstreamNode>()
  readonly #onChange: (node: UpstreamNode | undefined, isOpen: boolean) => void

  /** @param onChange called when a breaker opens or closes; `node` is undefined for the breaker of the service. */
  constructor(
    options: BreakerOptions,
    onChange: (node: UpstreamNode | undefined, isOpen: boolean) => void,
  ) {
    this.options = options
    this.#service = new Breaker(options)
    this.#onChange = onChange
  }

  /** Whether all breakers are closed. */
  get areClosed(): boolean {
    return this.#open.size === 0 && this.#service.untilMs === 0
  }

  /** Milliseconds until the service receives requests again; 0 if its breaker is closed. */
  openForMs(nowMs: number): number {
    return Math.max(0, this.#service.untilMs - nowMs)
  }

  /** Whether the breaker of the service admits a request. */
  admits(nowMs: number): boolean {
    return this.#service.admits(nowMs)
  }

  /** Records that a request ended without a result. @param node undefined if no node was selected. */
  withdraw(node: UpstreamNode | undefined): void {
    this.#service.withdraw()
    if (node !== undefined) this.#nodes.get(node)?.withdraw()
  }

  isOpen(node: UpstreamNode): boolean {
    return this.#open.has(node)
  }

  /**
   * Returns `node`, or another node if its breaker admits no request.
   *
   * @param others candidate nodes.
   */
  replace(
    node: UpstreamNode | undefined,
    others: readonly UpstreamNode[],
    nowMs: number,
  ): UpstreamNode | undefined {
    if (this.#open.size === 0 || node === undefined || this.#admitsNode(node, nowMs)) return node
    return others.find(
      (other) => other !== node && !other.isUnhealthy && this.#admitsNode(other, nowMs),
    )
  }

  record(node: UpstreamNode, isFailure: boolean, nowMs: number): void {
    let breaker = this.#nodes.get(node)
    if (breaker === undefined) {
      breaker = new Breaker(this.options)
      this.#nodes.set(node, breaker)
    }
    if (breaker.record(isFailure, nowMs)) this.#changed(node, breaker)
    const mayOpen = (): boolean => this.#allFail(nowMs)
    if (this.#service.record(isFailure, nowMs, mayOpen))
      this.#onChange(undefined, this.#service.untilMs > 0)
  }

  #changed(node: UpstreamNode, { untilMs }: Breaker): void {
    const isOpen = untilMs > 0
    if (this.#open.has(node) === isOpen) return
    if (isOpen) this.#open.add(node)
    else this.#open.delete(node)
    this.#onChange(node, isOpen)
  }

  /** Removes nodes that are no longer part of the service. */
  retainOnly(nodes: readonly UpstreamNode[]): void {
    const used = new Set(nodes)
    for (const node of this.#nodes.keys())
      if (!used.has(node)) {
        this.#nodes.delete(node)
        this.#open.delete(node)
      }
  }

  #allFail(nowMs: number): boolean {
    for (const breaker of this.#nodes.values()) if (!breaker.isFailing(nowMs)) return false
    return true
  }

  #admitsNode(node: UpstreamNode, nowMs: number): boolean {
    return this.#nodes.get(node)?.admits(nowMs) ?? true
  }
}

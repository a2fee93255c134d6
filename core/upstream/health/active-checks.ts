import { toJittered } from '../../../lib/async/backoff.ts'
import type { UpstreamNode } from '../node-health.ts'
import type { HealthOptions } from './health-options.ts'
import { openProbe } from './open-probe.ts'
import type { Probe } from './probe.ts'

const JITTER = 0.1

/** Checks nodes again and again; a node is healthy until `fails` checks have failed. */
export class ActiveChecks {
  readonly #options: HealthOptions
  readonly #onChange: (node: UpstreamNode, reason: string) => void
  readonly #checked = new Map<UpstreamNode, NodeCheck>()

  /** @param onChange called when a node became unhealthy, with the reason, or healthy, with an empty text. */
  constructor(options: HealthOptions, onChange: (node: UpstreamNode, reason: string) => void) {
    this.#options = options
    this.#onChange = onChange
  }

  get options(): HealthOptions {
    return this.#options
  }

  /** Replaces the nodes. */
  update(nodes: readonly UpstreamNode[]): void {
    const wanted = new Set(nodes)
    for (const [node, check] of this.#checked)
      if (!wanted.has(node)) {
        check.close()
        this.#checked.delete(node)
      }
    for (const node of nodes)
      if (!this.#checked.has(node))
        this.#checked.set(node, new NodeCheck(node, this.#options, this.#onChange))
  }

  close(): void {
    this.update([])
  }
}

class NodeCheck {
  readonly #node: UpstreamNode
  readonly #options: HealthOptions
  readonly #onChange: (node: UpstreamNode, reason: string) => void
  readonly #probe: Probe
  #timer: NodeJS.Timeout
  /** Consecutive results that differ from the current state. */
  #differing = 0
  #closed = false

  constructor(
    node: UpstreamNode,
    options: HealthOptions,
    onChange: (node: UpstreamNode, reason: string) => void,
  ) {
    this.#node = node
    this.#options = options
    this.#onChange = onChange
    this.#probe = openProbe(node, options)
    // Spread over the interval: all nodes of a service are added at once.
    this.#timer = this.#schedule(Math.random() * options.unhealthyIntervalMs)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#probe.close()
    this.#node.isUnhealthy = false
  }

  #schedule(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#probe.check((reason) => this.#receive(reason)), delayMs).unref()
  }

  /** @param reason why the check failed; empty: it passed. */
  #receive(reason: string): void {
    if (this.#closed) return
    const { passes, fails, intervalMs, unhealthyIntervalMs } = this.#options
    const { isUnhealthy } = this.#node
    const isFailure = reason !== ''
    this.#differing = isFailure === isUnhealthy ? 0 : this.#differing + 1
    if (this.#differing >= (isUnhealthy ? passes : fails)) {
      this.#differing = 0
      this.#node.isUnhealthy = isFailure
      this.#onChange(this.#node, reason)
    }
    const isSuspect = this.#node.isUnhealthy || this.#differing > 0
    const delayMs = isSuspect ? unhealthyIntervalMs : intervalMs
    this.#timer = this.#schedule(toJittered(delayMs, JITTER))
  }
}

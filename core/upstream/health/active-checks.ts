import { toJittered } from '../../../lib/async/backoff.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import type { HealthOptions } from './health-options.ts'
import { openProbe } from './open-probe.ts'
import type { Probe } from './probe.ts'
import type { ShareCheck, SharedCheck } from './shared-check.ts'

/** Nodes of a namespace that this process checks. */
export interface CheckLoad {
  nodes: number
}

const JITTER = 0.1
/** Minimum mean time between two checks of a namespace, since a tenant may have thousands of nodes. */
const GAP_MS = 1

/** Checks nodes periodically. A node is healthy until `fails` checks have failed. */
export class ActiveChecks {
  readonly #options: HealthOptions
  readonly #onChange: (node: UpstreamNode, reason: string) => void
  readonly #share: ShareCheck | undefined
  readonly #load: CheckLoad
  readonly #checked = new Map<UpstreamNode, NodeCheck>()

  /**
   * @param onChange called with the reason when a node becomes unhealthy, and with an empty text when it becomes
   * healthy.
   * @param share @default this process checks all nodes
   * @param load above a thousand nodes per second, the intervals are extended. @default load of these nodes
   */
  constructor(
    options: HealthOptions,
    onChange: (node: UpstreamNode, reason: string) => void,
    share?: ShareCheck,
    load: CheckLoad = { nodes: 0 },
  ) {
    this.#options = options
    this.#onChange = onChange
    this.#share = share
    this.#load = load
  }

  get options(): HealthOptions {
    return this.#options
  }

  /** Replaces the nodes. */
  update(nodes: readonly UpstreamNode[]): void {
    const current = new Set(nodes)
    for (const [node, check] of this.#checked)
      if (!current.has(node)) {
        check.close()
        this.#checked.delete(node)
      }
    for (const node of nodes)
      if (!this.#checked.has(node))
        this.#checked.set(
          node,
          new NodeCheck(node, this.#options, this.#onChange, this.#load, this.#share),
        )
  }

  close(): void {
    this.update([])
  }
}

class NodeCheck {
  readonly #node: UpstreamNode
  readonly #options: HealthOptions
  readonly #onChange: (node: UpstreamNode, reason: string) => void
  readonly #load: CheckLoad
  readonly #shared: SharedCheck | undefined
  /** Undefined if another process checks the node. */
  #probe: Probe | undefined = undefined
  #timer: NodeJS.Timeout | undefined = undefined
  /** Number of consecutive results that differ from the current state. */
  #differing = 0
  #closed = false

  constructor(
    node: UpstreamNode,
    options: HealthOptions,
    onChange: (node: UpstreamNode, reason: string) => void,
    load: CheckLoad,
    share: ShareCheck | undefined,
  ) {
    this.#node = node
    this.#options = options
    this.#onChange = onChange
    this.#load = load
    const { service, id, host, port, secure, protocol } = node
    const key = JSON.stringify([service, id, host, port, secure, protocol, options])
    this.#shared = share?.(key, {
      lead: () => this.#becomeLeader(),
      receive: (reason) => this.#change(reason),
    })
    if (this.#shared === undefined) this.#becomeLeader()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    if (this.#probe !== undefined) this.#load.nodes--
    this.#probe?.close()
    this.#shared?.close()
    this.#node.isUnhealthy = false
  }

  #becomeLeader(): void {
    if (this.#closed || this.#probe !== undefined) return
    this.#probe = openProbe(this.#node, this.#options)
    this.#load.nodes++
    // Spread over the interval, because all nodes of a service are added simultaneously.
    this.#schedule(Math.random() * this.#toInterval(this.#options.unhealthyIntervalMs))
  }

  #toInterval(ms: number): number {
    return Math.max(ms, this.#load.nodes * GAP_MS)
  }

  #schedule(delayMs: number): void {
    const check = (): void => this.#probe?.check((reason) => this.#receive(reason))
    this.#timer = setTimeout(check, delayMs).unref()
  }

  #change(reason: string): void {
    const isUnhealthy = reason !== ''
    if (this.#closed || this.#node.isUnhealthy === isUnhealthy) return
    this.#node.isUnhealthy = isUnhealthy
    this.#onChange(this.#node, reason)
  }

  /** @param reason why the check failed; empty if it passed. */
  #receive(reason: string): void {
    if (this.#closed) return
    const { passes, fails, intervalMs, unhealthyIntervalMs } = this.#options
    const { isUnhealthy } = this.#node
    const isFailure = reason !== ''
    this.#differing = isFailure === isUnhealthy ? 0 : this.#differing + 1
    if (this.#differing >= (isUnhealthy ? passes : fails)) {
      this.#differing = 0
      this.#change(reason)
      this.#shared?.publish(reason)
    }
    const isSuspect = this.#node.isUnhealthy || this.#differing > 0
    const delayMs = isSuspect ? unhealthyIntervalMs : intervalMs
    this.#schedule(toJittered(this.#toInterval(delayMs), JITTER))
  }
}

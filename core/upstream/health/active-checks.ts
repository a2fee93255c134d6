import { toJittered } from '../../../lib/async/backoff.ts'
import type { UpstreamNode } from '../node-health.ts'
import { createProbe, type Probe } from './probe.ts'

/** Active health checks of the nodes of a service. */
export interface HealthOptions {
  /**
   * - `http`: a request, whose status must be in `expect`.
   * - `tcp`: a connection.
   * - `grpc`: `grpc.health.v1.Health/Check`.
   * - `mx`: the call `Debug.Health`.
   *
   * @default http
   */
  readonly type: 'http' | 'tcp' | 'grpc' | 'mx'
  /** Path and query of `http`; service name of `grpc`. @default / for http, all services for grpc */
  readonly path: string
  /** Milliseconds between two checks of a healthy node, reduced by up to a tenth at random. @default 10000 */
  readonly intervalMs: number
  /** The same for an unhealthy node. @default 2000 */
  readonly unhealthyIntervalMs: number
  /** @default 1000 */
  readonly timeoutMs: number
  /** Consecutive successes after which an unhealthy node is healthy. @default 2 */
  readonly passes: number
  /** Consecutive failures after which a node is unhealthy. @default 3 */
  readonly fails: number
  /** Ranges of statuses. @default 200 to 399 */
  readonly expect: readonly (readonly [first: number, last: number])[]
  /** Body of a POST instead of a GET; empty: GET. @default '' */
  readonly body: string
  /** Port of the checks; 0: the port of the node. @default 0 */
  readonly port: number
}

export const DEFAULT_HEALTH: HealthOptions = {
  type: 'http',
  path: '',
  intervalMs: 10_000,
  unhealthyIntervalMs: 2000,
  timeoutMs: 1000,
  passes: 2,
  fails: 3,
  expect: [[200, 399]],
  body: '',
  port: 0,
}

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
    for (const [node, check] of this.#checked)
      if (!nodes.includes(node)) {
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
    this.#probe = createProbe(node, options)
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

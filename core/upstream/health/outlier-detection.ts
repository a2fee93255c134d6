import { HEALTHY, NodeFailures } from '../node/node-failures.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import { findOutliers, ResponseWindow, type WindowLimits } from './outlier-window.ts'

/** Conditions and duration for ejecting a failing node. Option names follow Envoy. */
export interface OutlierOptions extends WindowLimits {
  /** Number of consecutive 5xx responses; 0 disables the check. @default 5 */
  readonly consecutive5xx: number
  /**
   * Number of consecutive responses that are 502 to 504, incomplete, malformed or late; 0 disables the check. @default
   * 3
   */
  readonly consecutiveGatewayErrors: number
  /** Interval at which failure percentage and latency are compared, in milliseconds. @default 10000 */
  readonly intervalMs: number
  /** Duration of the first ejection in milliseconds; doubled after each failed trial up to 5 min. @default 30000 */
  readonly baseEjectionMs: number
  /** Maximum percentage of nodes that may be ejected. @default 50 */
  readonly maxEjectionPercent: number
  /**
   * - `route`: a 5xx response counts if other nodes serve the same route. A node that serves other routes is ejected
   *   once two routes fail.
   * - `node`: every response counts, as in Envoy.
   *
   * @default route
   */
  readonly scope: 'route' | 'node'
}

/**
 * Reason why a request failed: no connection, a lost connection, a malformed or late response, or a status from 500 to
 * 599.
 */
export type NodeFailure = 'connect' | 'reset' | 'gateway' | number

export const DEFAULT_OUTLIER: OutlierOptions = {
  consecutive5xx: 5,
  consecutiveGatewayErrors: 3,
  failurePercentage: 85,
  latencyFactor: 4,
  intervalMs: 10_000,
  baseEjectionMs: 30_000,
  maxEjectionPercent: 50,
  scope: 'route',
}

const MAX_EJECTION_MS = 300_000
/** Duration of the first ejection of an unreachable node, which is short because a trial loses no request. */
const UNREACHABLE_MS = 1000
/** Number of failing routes that eject a node serving other routes. */
const FAILING_ROUTES = 2

/**
 * Ejects the failing nodes of a service (passive health checking).
 *
 * After its ejection time, a node receives a single trial request. If it succeeds, the node returns; otherwise the
 * ejection time doubles. Uses no timers: `pick` and responses compare the clock.
 */
export class OutlierDetector {
  /** Nodes that are not ejected. */
  usable: readonly UpstreamNode[] = []
  /** Time at which the next ejected node may be tried; Infinity if none is ejected. */
  nextTrialMs: number = Number.POSITIVE_INFINITY
  /** All nodes, including ejected ones. */
  nodes: readonly UpstreamNode[] = []
  /** Nodes with failures that are not ejected. */
  readonly #suspects = new Set<UpstreamNode>()
  /** Number of the current interval. */
  #interval = 1
  #intervalEndMs = 0
  options: OutlierOptions
  /** Whether requests are spread randomly or in turn, so that nodes are comparable by failures and latency. */
  isComparable = true
  readonly #onEject: ((node: UpstreamNode, forMs: number) => void) | undefined
  readonly #onReturn: ((node: UpstreamNode) => void) | undefined

  constructor(
    options: OutlierOptions = DEFAULT_OUTLIER,
    onEject?: (node: UpstreamNode, forMs: number) => void,
    onReturn?: (node: UpstreamNode) => void,
  ) {
    this.options = options
    this.#onEject = onEject
    this.#onReturn = onReturn
  }

  /** Replaces the list of nodes. If too many of them are ejected, the nodes closest to their return are readmitted. */
  update(nodes: readonly UpstreamNode[]): void {
    this.nodes = nodes
    if (this.#isOff()) for (const node of nodes) if (node.ejectedUntilMs !== 0) this.#readmit(node)
    for (const suspect of this.#suspects)
      if (!nodes.includes(suspect)) this.#suspects.delete(suspect)
    const ejected = nodes
      .filter(isEjectedByLimit)
      .sort((a, b) => a.ejectedUntilMs - b.ejectedUntilMs)
    for (const node of ejected.slice(0, Math.max(0, ejected.length - this.#maxEjected())))
      this.#readmit(node)
    this.#refresh()
  }

  /** Returns the ejected node that is due for a trial, if any. */
  takeTrial(nowMs: number, tried: UpstreamNode | undefined): UpstreamNode | undefined {
    if (nowMs < this.nextTrialMs) return undefined
    for (const node of this.nodes) {
      if (node.ejectedUntilMs === 0 || node.ejectedUntilMs > nowMs || node === tried) continue
      const failures = node.failures as NodeFailures
      failures.onTrial = !node.isUnhealthy
      // If the result of the trial is never reported, the next trial follows after the same time.
      failures.ejectedUntilMs =
        nowMs + this.#downForMs(failures, Math.max(0, failures.ejections - 1))
      this.#refresh()
      if (!node.isUnhealthy) return node
    }
    return undefined
  }

  /**
   * Counts a response for comparing the nodes.
   *
   * @returns true if the usable nodes changed.
   */
  count(node: UpstreamNode, isFailure: boolean, latencyMs: number, nowMs: number): boolean {
    const { failurePercentage, latencyFactor } = this.options
    if (!this.isComparable || (failurePercentage === 0 && latencyFactor === 0)) return false
    const hasIntervalEnded = nowMs >= this.#intervalEndMs
    const hasChanged = hasIntervalEnded && this.#compare(nowMs)
    node.window ??= new ResponseWindow()
    const { window } = node
    if (window.interval !== this.#interval) window.reset(this.#interval)
    window.add(isFailure, latencyMs)
    return hasChanged
  }

  /** Whether {@link succeeded} has an effect. */
  isRelevant(node: UpstreamNode): boolean {
    return node.failures !== HEALTHY || this.#suspects.size > 0
  }

  /** @returns true if the usable nodes changed. */
  succeeded(node: UpstreamNode, nowMs: number, route = ''): boolean {
    const { failures } = node
    if (failures !== HEALTHY) {
      if (failures.ejectedUntilMs === 0) this.#clear(node, route)
      else if (failures.onTrial) {
        this.#readmit(node)
        this.#refresh()
        return true
      } else failures.consecutive = 0
    }
    return this.#compareWithPeer(node, route, nowMs)
  }

  /** @returns true if the usable nodes changed. */
  failed(node: UpstreamNode, failure: NodeFailure, nowMs: number, route = ''): boolean {
    if (this.#isOff()) return false
    const failures = openFailures(node)
    if (failures.ejectedUntilMs !== 0) {
      if (failures.onTrial) this.#eject(node, nowMs, failure === 'connect')
      return false
    }
    failures.add(this.options.scope === 'node' ? '' : route, {
      isGatewayError: typeof failure === 'string' || isGatewayError(failure),
      isConfirmed: failure === 'connect' || failure === 'reset' || this.options.scope === 'node',
    })
    if (this.nodes.includes(node)) this.#suspects.add(node)
    if (failure === 'connect') return this.#ejectUnreachable(node, nowMs)
    return this.#isOutlier(failures) && this.#tryEject(node, nowMs)
  }

  /** Handles a success of another node on routes where a suspect fails. */
  #compareWithPeer(peer: UpstreamNode, route: string, nowMs: number): boolean {
    let hasChanged = false
    for (const suspect of this.#suspects) {
      if (suspect === peer) continue
      const failures = suspect.failures as NodeFailures
      const failing = failures.routes.get(route)
      if (failing === undefined || failing.isConfirmed) continue
      failing.isConfirmed = true
      if (this.#isOutlier(failures)) hasChanged = this.#tryEject(suspect, nowMs) || hasChanged
    }
    return hasChanged
  }

  #clear(node: UpstreamNode, route: string): void {
    const failures = node.failures as NodeFailures
    failures.consecutive = 0
    failures.consecutiveGatewayErrors = 0
    failures.routes.delete(this.options.scope === 'node' ? '' : route)
    if (failures.routes.size > 0) return
    node.failures = HEALTHY
    this.#suspects.delete(node)
  }

  #isOff(): boolean {
    const { consecutive5xx, consecutiveGatewayErrors } = this.options
    return consecutive5xx === 0 && consecutiveGatewayErrors === 0
  }

  #isOutlier(failures: NodeFailures): boolean {
    const confirmed = [...failures.routes.values()].filter(({ isConfirmed }) => isConfirmed)
    if (confirmed.length > 0 && this.#isReached(failures)) return true
    return confirmed.filter((route) => this.#isReached(route)).length >= FAILING_ROUTES
  }

  #isReached(run: {
    readonly consecutive: number
    readonly consecutiveGatewayErrors: number
  }): boolean {
    const { consecutive5xx, consecutiveGatewayErrors } = this.options
    return (
      (consecutive5xx > 0 && run.consecutive >= consecutive5xx) ||
      (consecutiveGatewayErrors > 0 && run.consecutiveGatewayErrors >= consecutiveGatewayErrors)
    )
  }

  /** Ends the interval. */
  #compare(nowMs: number): boolean {
    const windows = this.usable.flatMap((node) => {
      const { window } = node
      return window?.interval === this.#interval ? [{ node, window }] : []
    })
    this.#interval++
    this.#intervalEndMs = nowMs + this.options.intervalMs
    let hasChanged = false
    for (const node of findOutliers(windows, this.options))
      hasChanged = this.#tryEject(node, nowMs) || hasChanged
    return hasChanged
  }

  #maxEjected(): number {
    return Math.floor((this.nodes.length * this.options.maxEjectionPercent) / 100)
  }

  #downForMs({ isUnreachable }: NodeFailures, ejections: number): number {
    const { baseEjectionMs } = this.options
    const doublings = 2 ** Math.min(ejections, 30)
    if (isUnreachable) return Math.min(baseEjectionMs, UNREACHABLE_MS * doublings)
    return Math.min(Math.max(MAX_EJECTION_MS, baseEjectionMs), baseEjectionMs * doublings)
  }

  #tryEject(node: UpstreamNode, nowMs: number): boolean {
    // The node belongs to an older list, and its last requests are ending.
    if (!this.usable.includes(node)) return false
    const ejected = this.nodes.filter(isEjectedByLimit)
    if (ejected.length >= this.#maxEjected()) return false
    this.#eject(node, nowMs, false)
    return true
  }

  /** Unreachable nodes do not count towards the limit of ejected nodes. */
  #ejectUnreachable(node: UpstreamNode, nowMs: number): boolean {
    const isOther = (other: UpstreamNode): boolean =>
      other !== node && !other.failures.isUnreachable
    if (!this.usable.includes(node) || !this.nodes.some(isOther)) return false
    this.#eject(node, nowMs, true)
    return true
  }

  #eject(node: UpstreamNode, nowMs: number, isUnreachable: boolean): void {
    const failures = openFailures(node)
    failures.isUnreachable = isUnreachable
    const forMs = this.#downForMs(failures, failures.ejections)
    failures.ejections++
    failures.ejectedUntilMs = nowMs + forMs
    failures.onTrial = false
    failures.routes.clear()
    this.#suspects.delete(node)
    this.#refresh()
    this.#onEject?.(node, forMs)
  }

  #readmit(node: UpstreamNode): void {
    node.failures = HEALTHY
    this.#onReturn?.(node)
  }

  #refresh(): void {
    const isEjected = this.nodes.some((node) => node.ejectedUntilMs !== 0)
    // Usually the same array, since a copy per service would take memory.
    this.usable = isEjected ? this.nodes.filter((node) => node.ejectedUntilMs === 0) : this.nodes
    this.nextTrialMs = Number.POSITIVE_INFINITY
    for (const { ejectedUntilMs } of this.nodes) {
      if (ejectedUntilMs !== 0) this.nextTrialMs = Math.min(this.nextTrialMs, ejectedUntilMs)
    }
  }
}

function isEjectedByLimit({ failures }: UpstreamNode): boolean {
  return failures.ejectedUntilMs !== 0 && !failures.isUnreachable
}

/** True for the statuses of a failed intermediary rather than the application: 502, 503 and 504. */
export function isGatewayError(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

function openFailures(node: UpstreamNode): NodeFailures {
  const { failures } = node
  if (failures !== HEALTHY) return failures
  const opened = new NodeFailures()
  node.failures = opened
  return opened
}

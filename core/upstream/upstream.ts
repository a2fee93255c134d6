import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { clock } from '../../lib/time/coarse-clock.ts'
import type { Endpoint, Node, Service } from '../contracts/registry.ts'
import type { Exchange } from '../exchange.ts'
import { DEFAULT_DOMAIN, isSameMap, POLICY, toServiceLabel } from '../registry/service.ts'
import { collectSettings } from '../registry/setting-metadata.ts'
import type { Attempts } from './attempts.ts'
import { addLatency } from './balance/ewma.ts'
import { NodePicker } from './balance/node-picker.ts'
import type { BalanceOptions } from './balance/policy.ts'
import { toSubset } from './balance/select-nodes.ts'
import type { Sticky } from './balance/sticky.ts'
import { createRandomBits } from './balance/weighted.ts'
import type { ConcurrencyOptions } from './concurrency/concurrency-options.ts'
import { ActiveChecks } from './health/active-checks.ts'
import { CircuitBreakers } from './health/circuit-breakers.ts'
import { OutlierDetector } from './health/outlier-detection.ts'
import { UNKNOWN_LATENCY } from './health/outlier-window.ts'
import { readListedNodes } from './node/listed-nodes.ts'
import type { NodeHost } from './node/node-host.ts'
import type { UpstreamNode } from './node/upstream-node.ts'
import { DEFAULT_POLICIES, type UpstreamPolicies } from './policies/policies.ts'
import type { HedgeOptions } from './retry/hedge-options.ts'
import { LatencyQuantile } from './retry/latency-quantile.ts'
import { RetryBudget } from './retry/retry-budget.ts'
import type { RetryOptions } from './retry/retry-options.ts'
import type { UpstreamOptions } from './upstream-options.ts'

const NOTHING: ReadonlyMap<string, string> = new Map()

/**
 * The nodes of a service across all versions, and their load balancing.
 *
 * The balancer is built when the usable nodes change. `pick` only reads tables and allocates nothing.
 */
export class Upstream {
  readonly name: string
  /** Domain of the service. */
  readonly domain: string
  /** See {@link toServiceLabel}. */
  readonly label: string
  /** True if a node was picked since the cache last checked. */
  used = true
  readonly budget: RetryBudget = new RetryBudget()
  #options: UpstreamOptions
  #policies: UpstreamPolicies
  readonly #nowMs: () => number
  readonly #health: OutlierDetector
  readonly #picker: NodePicker
  #nodes: readonly UpstreamNode[] = []
  #endpoints: ReadonlyMap<string, Endpoint> = new Map()
  #hasPolicies = false
  #settings: Readonly<Record<string, string>> | undefined = undefined
  #handler: string | undefined = undefined
  #grpc = false
  #checks: ActiveChecks | undefined = undefined
  #breakers: CircuitBreakers | undefined = undefined
  /** Undefined until a request needs it. */
  #latencies: LatencyQuantile | undefined = undefined
  /** Reasons why nodes were skipped in the last update, by id. */
  #skipped: ReadonlyMap<string, string> = NOTHING

  constructor(name: string, options: UpstreamOptions) {
    this.name = name
    this.domain = options.domain ?? DEFAULT_DOMAIN
    this.label = toServiceLabel(name, this.domain)
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => clock.nowMs)
    this.#policies = options.policies ?? DEFAULT_POLICIES
    this.#health = new OutlierDetector(this.#policies.outlier, options.onEject, (node) => {
      this.#picker.slowStart.begin([node], this.#nowMs())
      options.onReturn?.(node)
    })
    const randomBits = options.randomBits ?? createRandomBits()
    this.#picker = new NodePicker(name, this.#health, this.#policies, this.#nowMs, randomBits)
    this.rebalance(options.balance)
    this.#openChecks()
    this.#openBreakers()
  }

  /** All nodes, including ejected ones. */
  get nodes(): readonly UpstreamNode[] {
    return this.#nodes
  }

  /** Declared endpoints of all versions by name; empty if none are declared. */
  get endpoints(): ReadonlyMap<string, Endpoint> {
    return this.#endpoints
  }

  /** Whether an endpoint declares policies (`policy.<plugin>` in its metadata). */
  get hasPolicies(): boolean {
    return this.#hasPolicies
  }

  /** Settings in the service metadata by key. */
  get settings(): Readonly<Record<string, string>> {
    return this.#settings ?? {}
  }

  /** Handler requested by the metadata of a service without declared endpoints; undefined if none. */
  get handler(): string | undefined {
    return this.#handler
  }

  /** True for gRPC nodes, to which other requests cannot be forwarded. */
  get grpc(): boolean {
    return this.#grpc
  }

  /**
   * Returns the `Set-Cookie` value that binds the client to the responding node, or undefined if it is already bound.
   * Not set without sticky balancing.
   */
  get replyCookie(): Sticky['replyCookie'] | undefined {
    return this.#picker.sticky?.replyCookie
  }

  get retry(): RetryOptions {
    return this.#policies.retry
  }

  get hedge(): HedgeOptions | undefined {
    return this.#policies.hedge
  }

  get concurrency(): ConcurrencyOptions | undefined {
    return this.#policies.concurrency
  }

  /** Number of nodes that are not ejected. */
  get usableNodes(): number {
    return this.#health.usable.length
  }

  /** 95th percentile of the latencies in milliseconds; undefined if not yet known. */
  get p95Ms(): number | undefined {
    this.#latencies ??= new LatencyQuantile()
    return this.#latencies.p95Ms
  }

  /** `Host` of requests; undefined for the host requested by the client. */
  get host(): NodeHost | undefined {
    return this.#options.host
  }

  /**
   * Number of requests in flight at which a node is full and only picked if all other nodes are full; 0 for no limit.
   */
  get maxPerNode(): number {
    return this.#picker.maxPerNode
  }

  set maxPerNode(requests: number) {
    this.#picker.maxPerNode = requests
  }

  /** Changes the load-balancing policy. */
  rebalance(balance?: BalanceOptions): void {
    this.#picker.configure(this.#policies, balance)
    this.#picker.reset()
  }

  /**
   * Applies changed settings.
   *
   * @returns true if the next {@link update} replaces nodes because connections or subset have changed.
   */
  configure({ policies = DEFAULT_POLICIES, balance, tls, host }: UpstreamOptions): boolean {
    const { subset } = this.#policies
    this.#policies = policies
    this.#health.options = policies.outlier
    if (!isDeepStrictEqual(policies.health, this.#checks?.options)) this.#openChecks()
    if (!isDeepStrictEqual(policies.breaker, this.#breakers?.options)) this.#openBreakers()
    this.#picker.slowStart.configure(policies.slowStartMs, this.#nodes, this.#nowMs())
    this.#picker.configure(policies, balance)
    this.#regroup()
    const { tls: oldTls, host: oldHost } = this.#options
    if (tls?.id === oldTls?.id && isDeepStrictEqual(host, oldHost))
      return subset !== policies.subset
    this.#options = { ...this.#options, tls, host }
    return true
  }

  /**
   * Applies a registry update. Unchanged nodes keep their connections and counters; the connections of all other nodes
   * are closed.
   */
  update(services: readonly Service[]): void {
    const endpoints = services.flatMap((service) => service.endpoints)
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
    this.#hasPolicies = endpoints.some(({ metadata }) =>
      Object.keys(metadata).some((name) => name.startsWith(POLICY)),
    )
    const [metadata] = services.map((service) => service.metadata)
    this.#handler = endpoints.length === 0 ? metadata?.['handler'] : undefined
    this.#applySettings(services)
    const known = new Map(this.#nodes.map((node) => [node.id, node]))
    const skipped = new Map<string, string>()
    const skip = (entry: Node, reason: string): void => {
      skipped.set(entry.id, reason)
      if (this.#skipped.get(entry.id) !== reason) this.#options.onSkip?.(entry, reason)
    }
    const listed = readListedNodes(this.name, services, known, this.#options, skip)
    this.#skipped = skipped.size === 0 ? NOTHING : skipped
    this.#grpc = listed.grpc
    const nodes = toSubset(listed.nodes, this.#policies.subset, PROCESS_ID)
    const isSame =
      nodes.length === this.#nodes.length && nodes.every((node, i) => node === this.#nodes[i])
    if (isSame && !listed.hasNewState) return
    if (this.#nodes.length > 0) {
      const added = nodes.filter(({ id }) => !known.has(id))
      this.#picker.slowStart.begin(added, this.#nowMs())
    }
    this.#nodes = nodes
    this.#checkNodes()
    this.#breakers?.retainOnly(nodes)
    this.#regroup()
    const used = new Set(nodes)
    for (const node of known.values()) if (!used.has(node)) node.retire()
  }

  #applySettings(services: readonly Service[]): void {
    const { onSettings } = this.#options
    if (onSettings === undefined || services.length === 0) return
    const settings = collectSettings(services)
    if (this.#settings !== undefined && isSameMap(settings, this.#settings)) return
    this.#settings = settings
    this.configure({ ...this.#options, ...onSettings(settings) })
  }

  /**
   * Selects the node for a request. Returns undefined if none is available.
   *
   * @param x undefined for a call that is not an HTTP request and has no data to hash.
   * @param last node of the previous attempt, only returned if no other is usable.
   * @param tried nodes of failed attempts, never returned.
   */
  pick(
    x: Exchange | undefined,
    last?: UpstreamNode,
    tried?: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    this.used = true
    const breakers = this.#breakers
    if (breakers === undefined || breakers.areClosed) return this.#picker.pick(x, last, tried)
    const nowMs = this.#nowMs()
    if (!breakers.admits(nowMs)) return undefined
    const others = tried === undefined ? this.#health.usable : this.others(tried)
    const node = breakers.replace(this.#picker.pick(x, last, tried), others, nowMs)
    if (node === undefined) breakers.withdraw(undefined)
    return node
  }

  /** Returns the usable nodes that have not been tried, or else the ejected ones. */
  others(tried: readonly UpstreamNode[]): readonly UpstreamNode[] {
    return this.#picker.others(tried)
  }

  /** Records a response. A status of 500 or more is a failure. */
  responded(
    node: UpstreamNode,
    status: number,
    latencyMs: number,
    request: Pick<Attempts, 'routeName'>,
  ): void {
    const nowMs = this.#nowMs()
    const isFailure = status >= 500
    this.#breakers?.record(node, isFailure, nowMs)
    if (this.#picker.kind === 'ewma') addLatency(node, latencyMs, isFailure)
    this.observe(latencyMs)
    let hasChanged = this.#health.count(node, isFailure, latencyMs, nowMs)
    if (isFailure)
      hasChanged = this.#health.failed(node, status, nowMs, request.routeName) || hasChanged
    else if (this.#health.isRelevant(node))
      hasChanged = this.#health.succeeded(node, nowMs, request.routeName) || hasChanged
    if (hasChanged) this.#regroup()
  }

  /**
   * Records a failure: the node accepted no connection (`connect`), the connection was lost (`reset`), or the response
   * was malformed or late (`gateway`).
   */
  failed(node: UpstreamNode, kind: 'connect' | 'reset' | 'gateway', route = ''): void {
    if (this.#picker.kind === 'ewma') addLatency(node, UNKNOWN_LATENCY, true)
    const isListed = this.#nodes.includes(node)
    if (kind === 'connect' && isListed && this.#options.onConnectionRefused?.(node)) return
    const nowMs = this.#nowMs()
    this.#breakers?.record(node, true, nowMs)
    const hasChanged = this.#health.count(node, true, UNKNOWN_LATENCY, nowMs)
    if (this.#health.failed(node, kind, nowMs, route) || hasChanged) this.#regroup()
  }

  /** Records a latency, or the time after which an attempt was canceled. */
  observe(latencyMs: number): void {
    if (latencyMs !== UNKNOWN_LATENCY) this.#latencies?.add(latencyMs)
  }

  /** Records that a picked node has no result for its request: the client disconnected, or another attempt won. */
  withdrawn(node: UpstreamNode): void {
    this.#breakers?.withdraw(node)
  }

  /** Milliseconds until the service's circuit breaker admits requests; 0 if it is closed. */
  get openForMs(): number {
    return this.#breakers?.openForMs(this.#nowMs()) ?? 0
  }

  /** Whether a node's circuit breaker is not closed. */
  isOpen(node: UpstreamNode): boolean {
    return this.#breakers?.isOpen(node) ?? false
  }

  /** See {@link UpstreamOptions.isDrained}. */
  isDrained(node: UpstreamNode): boolean {
    return this.#options.isDrained?.(node.id) ?? false
  }

  /** Applies changed results of {@link isDrained} to new requests. */
  applyDrains(): void {
    this.#breakers?.retainOnly(this.#nodes.filter((node) => !this.isDrained(node)))
    this.#regroup()
  }

  /** Current time of the monotonic clock in milliseconds. */
  get nowMs(): number {
    return this.#nowMs()
  }

  /** Records a retry. */
  retried(): void {
    this.#options.onRetry?.()
  }

  /** Closes the connections of all nodes. */
  close(): void {
    this.update([])
  }

  /**
   * Excludes drained nodes, draining nodes while other nodes are usable, and remote nodes if this process has a local
   * one, since remote nodes may be stale.
   */
  #regroup(): void {
    const { findCaller } = this.#options
    const hasDrained = this.#nodes.some((node) => this.isDrained(node))
    const nodes = hasDrained ? this.#nodes.filter((node) => !this.isDrained(node)) : this.#nodes
    const isLeaving = nodes.some(({ draining }) => draining)
    const remaining = isLeaving ? nodes.filter(({ draining }) => !draining) : nodes
    const inProcess = remaining.filter((node) => findCaller?.(node) !== undefined)
    const hasUsable = remaining.some(({ ejectedUntilMs }) => ejectedUntilMs === 0)
    this.#health.update(inProcess.length > 0 ? inProcess : hasUsable ? remaining : nodes)
    this.#picker.reset()
  }

  #openChecks(): void {
    this.#checks?.close()
    const { health } = this.#policies
    const { shareCheck, checkLoad } = this.#options
    const onChange = (node: UpstreamNode, reason: string): void => {
      if (reason === '') this.#picker.slowStart.begin([node], this.#nowMs())
      this.#options.onHealth?.(node, reason)
      this.#picker.reset()
    }
    this.#checks =
      health &&
      new ActiveChecks(
        health,
        onChange,
        shareCheck && ((key, handlers) => shareCheck(`${this.domain} ${key}`, handlers)),
        checkLoad,
      )
    this.#checkNodes()
  }

  #openBreakers(): void {
    const { breaker } = this.#policies
    this.#breakers =
      breaker &&
      new CircuitBreakers(breaker, (node, isOpen) => this.#options.onBreaker?.(node, isOpen))
  }

  /** Starts the health checks. Nodes in this process need none. */
  #checkNodes(): void {
    const { findCaller } = this.#options
    this.#checks?.update(this.#nodes.filter((node) => findCaller?.(node) === undefined))
  }
}

/** Determines the node subset of this process. */
const PROCESS_ID = randomUUID()

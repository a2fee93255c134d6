import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { clock } from '../../lib/time/coarse-clock.ts'
import type { Endpoint, Node, Service } from '../contracts/registry.ts'
import type { Exchange } from '../exchange.ts'
import { DEFAULT_DOMAIN, isSameMap, POLICY } from '../registry/service.ts'
import { collectSettings } from '../registry/setting-metadata.ts'
import type { Caller } from '../rpc/caller.ts'
import type { Attempts } from './attempts.ts'
import { createBalancer } from './balance/balancer.ts'
import { addLatency } from './balance/ewma.ts'
import type { BalanceOptions, Balancer } from './balance/policy.ts'
import { selectNodes, toSubset } from './balance/select-nodes.ts'
import { createSticky, type Sticky } from './balance/sticky.ts'
import { createRandomBits } from './balance/weighted.ts'
import type { ConcurrencyOptions } from './concurrency/concurrency-options.ts'
import { ActiveChecks } from './health/active-checks.ts'
import { CircuitBreakers } from './health/circuit-breakers.ts'
import { OutlierDetector } from './health/outlier-detection.ts'
import { UNKNOWN_LATENCY } from './health/outlier-window.ts'
import type { ShareCheck } from './health/shared-check.ts'
import type { Http2Pool } from './http2/pool.ts'
import { UpstreamNode } from './node-health.ts'
import type { NodeHost } from './node-host.ts'
import { isOffline, type NodeSettings, parseNode } from './parse-node.ts'
import { DEFAULT_POLICIES, type UpstreamPolicies } from './policies.ts'
import type { Pool } from './pool/pool.ts'
import type { HedgeOptions } from './retry/hedge-options.ts'
import { LatencyQuantile } from './retry/latency-quantile.ts'
import { RetryBudget } from './retry/retry-budget.ts'
import type { RetryOptions } from './retry/retry-options.ts'
import type { UpstreamTls } from './tls.ts'

/** Address and settings of a connection pool. */
export interface PoolAddress extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'pipeline'> {
  /** DNS lookup. @default the system resolver */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the authorities of the system */
  readonly tls?: UpstreamTls | undefined
}

export interface UpstreamOptions {
  /** Domain of the service. @default mx */
  readonly domain?: string
  /** Load-balancing policy. @default round-robin */
  readonly balance?: BalanceOptions
  /** Creates the connections of a node for its first request; `close` is called when the node is removed. */
  readonly createPool: (address: PoolAddress) => Pool
  /** The same for gRPC nodes. @default they are not called */
  readonly createHttp2Pool?: (address: PoolAddress) => Http2Pool
  /**
   * Caller of a node in this process, without sockets; never closed, and preferred to all other nodes. Undefined: a
   * remote node.
   */
  readonly findCaller?: (node: UpstreamNode) => Caller | undefined
  /** TLS settings of the connections to nodes. @default verified by the authorities of the system */
  readonly tls?: UpstreamTls | undefined
  /** `Host` of requests. @default the host of the client */
  readonly host?: NodeHost | undefined
  /** @default {@link DEFAULT_POLICIES} */
  readonly policies?: UpstreamPolicies | undefined
  /**
   * Applies settings of the service's metadata (`mx/...`) when they change, and returns options that are then in force.
   *
   * @default they are ignored
   */
  readonly onSettings?:
    | ((
        metadata: Readonly<Record<string, string>>,
      ) => Pick<UpstreamOptions, 'balance' | 'host' | 'policies'>)
    | undefined
  /** Monotonic clock, milliseconds. @default a clock with a resolution of 100 ms */
  readonly nowMs?: () => number
  /** Returns 32 random bits as a signed integer. @default seeded by Math.random */
  readonly randomBits?: () => number
  /** Called once for each registry entry that cannot be used. */
  readonly onSkip?: (node: Node, reason: string) => void
  /** Called when a node is ejected for `forMs` milliseconds. */
  readonly onEject?: (node: UpstreamNode, forMs: number) => void
  /** Called when a request or call is retried. */
  readonly onRetry?: (() => void) | undefined
  /** Called when health checks of a node fail, with the reason, or pass again, with an empty text. */
  readonly onHealth?: (node: UpstreamNode, reason: string) => void
  /** Called when an ejected node returns. */
  readonly onReturn?: (node: UpstreamNode) => void
  /** Called when the circuit breaker of a node, or of the service if undefined, opens or closes. */
  readonly onBreaker?: (node: UpstreamNode | undefined, isOpen: boolean) => void
  /** Shares health checks with the other processes of the gateway. @default this process checks its nodes */
  readonly shareCheck?: ShareCheck | undefined
  /** Whether an operator drained the node with this id: it gets no requests. @default none is drained */
  readonly isDrained?: (id: string) => boolean
  /** Called when a node refuses a connection. True: the node was removed. */
  readonly onConnectionRefused?: (node: UpstreamNode) => boolean
}

/**
 * Options of a service, by its name and domain.
 *
 * @param domain @default mx
 */
export type FindUpstreamOptions = (service: string, domain?: string) => UpstreamOptions

const NO_CHOICE: Balancer = { pick: () => undefined }
const NOTHING: ReadonlyMap<string, string> = new Map()

/**
 * The nodes of a service and the load balancing across them, for all versions.
 *
 * The balancer is built when the usable nodes change; `pick` only reads tables and allocates nothing.
 */
export class Upstream {
  readonly name: string
  /** Domain of the service. */
  readonly domain: string
  /** True if a node was picked since the cache last checked. */
  used = true
  /** Requests in flight with which a node is full, and not picked while others are not; 0: no limit. */
  maxPerNode = 0
  readonly budget: RetryBudget = new RetryBudget()
  #options: UpstreamOptions
  #policies: UpstreamPolicies
  readonly #nowMs: () => number
  readonly #randomBits: () => number
  readonly #health: OutlierDetector
  #balance: BalanceOptions = { kind: 'round-robin' }
  #sticky: Sticky | undefined
  #nodes: readonly UpstreamNode[] = []
  #endpoints: ReadonlyMap<string, Endpoint> = new Map()
  #hasPolicies = false
  #settings: Readonly<Record<string, string>> | undefined = undefined
  #handler: string | undefined = undefined
  #grpc = false
  #balancer: Balancer = NO_CHOICE
  #checks: ActiveChecks | undefined = undefined
  #breakers: CircuitBreakers | undefined = undefined
  /** Undefined: no request needs it so far. */
  #latencies: LatencyQuantile | undefined = undefined
  /** End of the slow start of the last node; 0: none is warming up. */
  #warmUntilMs = 0
  /** Why nodes were skipped in the last update, by id. */
  #skipped: ReadonlyMap<string, string> = NOTHING

  constructor(name: string, options: UpstreamOptions) {
    this.name = name
    this.domain = options.domain ?? DEFAULT_DOMAIN
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => clock.nowMs)
    this.#randomBits = options.randomBits ?? createRandomBits()
    this.#policies = options.policies ?? DEFAULT_POLICIES
    this.#health = new OutlierDetector(this.#policies.outlier, options.onEject, (node) => {
      this.#warm([node])
      options.onReturn?.(node)
    })
    this.rebalance(options.balance)
    this.#openChecks()
    this.#openBreakers()
  }

  /** All nodes, the ejected ones included. */
  get nodes(): readonly UpstreamNode[] {
    return this.#nodes
  }

  /** Declared endpoints of all versions, by name; empty if none declared. */
  get endpoints(): ReadonlyMap<string, Endpoint> {
    return this.#endpoints
  }

  /** Whether an endpoint declares policies (`policy.<plugin>` in its metadata). */
  get hasPolicies(): boolean {
    return this.#hasPolicies
  }

  /** Settings in the metadata of the service, by their keys. */
  get settings(): Readonly<Record<string, string>> {
    return this.#settings ?? {}
  }

  /** Handler requested by the metadata of a service without declared endpoints; undefined if none. */
  get handler(): string | undefined {
    return this.#handler
  }

  /** True if the nodes speak gRPC: other requests cannot be forwarded. */
  get grpc(): boolean {
    return this.#grpc
  }

  /**
   * Returns the `Set-Cookie` value that binds the client to the responding node; undefined when it is bound already.
   * Undefined itself without sticky balancing.
   */
  get replyCookie(): Sticky['replyCookie'] | undefined {
    return this.#sticky?.replyCookie
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

  /** 95th percentile of its latencies, milliseconds; undefined: not known yet. */
  get p95Ms(): number | undefined {
    this.#latencies ??= new LatencyQuantile()
    return this.#latencies.p95Ms
  }

  /** `Host` of requests; undefined: the host of the client. */
  get host(): NodeHost | undefined {
    return this.#options.host
  }

  /** Changes the load-balancing policy. */
  rebalance(balance?: BalanceOptions): void {
    this.#setBalance(balance)
    this.#build()
  }

  #setBalance(balance: BalanceOptions = { kind: 'round-robin' }): void {
    this.#balance = balance
    this.#health.isComparable =
      balance.kind !== 'hash' && balance.kind !== 'maglev' && balance.sticky === undefined
    this.#sticky = balance.sticky && createSticky(this.name, balance.sticky)
  }

  /**
   * Applies changed settings.
   *
   * @returns true if the next {@link update} replaces nodes: they need other connections, or others are in the subset.
   */
  configure({ policies = DEFAULT_POLICIES, balance, tls, host }: UpstreamOptions): boolean {
    const { subset } = this.#policies
    this.#policies = policies
    if (policies.concurrency?.per !== 'node') this.maxPerNode = 0
    this.#health.options = policies.outlier
    if (!isDeepStrictEqual(policies.health, this.#checks?.options)) this.#openChecks()
    if (!isDeepStrictEqual(policies.breaker, this.#breakers?.options)) this.#openBreakers()
    const latestMs = Math.ceil(this.#nowMs() + policies.slowStartMs)
    for (const node of this.#nodes) node.warmUntilMs = Math.min(node.warmUntilMs, latestMs)
    this.#warmUntilMs = Math.min(this.#warmUntilMs, latestMs)
    this.#setBalance(balance)
    this.#regroup()
    const { tls: oldTls, host: oldHost } = this.#options
    if (tls?.id === oldTls?.id && isDeepStrictEqual(host, oldHost))
      return subset !== policies.subset
    this.#options = { ...this.#options, tls, host }
    return true
  }

  /** Applies a registry update. Unchanged nodes keep their connections and counters; connections of other nodes are closed. */
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
    const next = new Map<string, UpstreamNode>()
    const skipped = new Map<string, string>()
    const skip = (entry: Node, reason: string): void => {
      skipped.set(entry.id, reason)
      if (this.#skipped.get(entry.id) !== reason) this.#options.onSkip?.(entry, reason)
    }
    let changed = false
    const entries = services.flatMap((service) => service.nodes)
    const grpc = entries.length > 0 && entries.every(isOfGrpc)
    for (const entry of entries) {
      if (isOffline(entry)) continue
      const settings = parseNode(entry)
      if (typeof settings === 'string') skip(entry, settings)
      else if (settings.protocol === 'grpc' && !grpc) skip(entry, MIXED)
      else if (next.has(entry.id)) skip(entry, `node id ${entry.id} is listed twice`)
      else {
        const old = known.get(entry.id)
        const node = old?.isSame(settings, this.#options)
          ? old
          : new UpstreamNode(this.name, entry.id, settings, this.#options)
        changed ||= node.draining !== settings.draining
        node.draining = settings.draining
        next.set(entry.id, node)
      }
    }
    this.#skipped = skipped.size === 0 ? NOTHING : skipped
    this.#grpc = grpc
    const nodes = toSubset([...next.values()], this.#policies.subset, PROCESS_ID)
    changed ||= nodes.length !== this.#nodes.length
    if (!changed && nodes.every((node, i) => node === this.#nodes[i])) return
    if (this.#nodes.length > 0) this.#warm(nodes.filter(({ id }) => !known.has(id)))
    this.#nodes = nodes
    this.#checkNodes()
    this.#breakers?.keepOnly(nodes)
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
   * Selects the node for a request; undefined if none is available.
   *
   * @param x undefined for a call that is not an HTTP request: no request data to hash.
   * @param last node of the previous attempt: returned only when no other is usable.
   * @param tried nodes of failed attempts: not returned.
   */
  pick(
    x: Exchange | undefined,
    last?: UpstreamNode,
    tried?: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    this.used = true
    const breakers = this.#breakers
    if (breakers === undefined) return this.#pickAny(x, last, tried)
    const nowMs = this.#nowMs()
    if (!breakers.admits(nowMs)) return undefined
    const others = tried === undefined ? this.#health.usable : this.others(tried)
    return breakers.replace(this.#pickAny(x, last, tried), others, nowMs)
  }

  /** {@link pick} without circuit breakers. */
  #pickAny(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[] | undefined,
  ): UpstreamNode | undefined {
    if (tried !== undefined && tried.length > 0) return this.#pickUntried(x, last, tried)
    if (
      this.#health.nextTrialMs !== Number.POSITIVE_INFINITY &&
      this.#balancer.isBound?.(x) !== true
    ) {
      const node = this.#health.takeTrial(this.#nowMs(), last)
      if (node !== undefined) return node
    }
    const picked = this.#balancer.pick(x, last)
    const node = this.#warmUntilMs === 0 ? picked : this.#spare(picked, x)
    return this.maxPerNode === 0 ? node : this.#replaceFull(node)
  }

  /** Candidates except the nodes already tried: usable ones, else ejected ones. */
  others(tried: readonly UpstreamNode[]): readonly UpstreamNode[] {
    const { usable, nodes } = this.#health
    const isOther = (node: UpstreamNode): boolean => !tried.includes(node)
    const left = usable.filter((node) => isOther(node) && !node.isUnhealthy)
    return left.length > 0 ? left : nodes.filter(isOther)
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
    if (this.#balance.kind === 'ewma') addLatency(node, latencyMs, isFailure)
    this.observe(latencyMs)
    let hasChanged = this.#health.count(node, isFailure, latencyMs, nowMs)
    if (isFailure)
      hasChanged = this.#health.failed(node, status, nowMs, request.routeName) || hasChanged
    else if (this.#health.isRelevant(node))
      hasChanged = this.#health.succeeded(node, nowMs, request.routeName) || hasChanged
    if (hasChanged) this.#regroup()
  }

  /**
   * Records a failure: the node accepted no connection (`connect`), lost it (`reset`), or its response was malformed or late (`gateway`).
   */
  failed(node: UpstreamNode, kind: 'connect' | 'reset' | 'gateway', route = ''): void {
    if (this.#balance.kind === 'ewma') addLatency(node, UNKNOWN_LATENCY, true)
    const isListed = this.#nodes.includes(node)
    if (kind === 'connect' && isListed && this.#options.onConnectionRefused?.(node)) return
    const nowMs = this.#nowMs()
    this.#breakers?.record(node, true, nowMs)
    const isOver = this.#health.count(node, true, UNKNOWN_LATENCY, nowMs)
    if (this.#health.failed(node, kind, nowMs, route) || isOver) this.#regroup()
  }

  /** Records a latency, or how long a cancelled attempt has taken at least. */
  observe(latencyMs: number): void {
    if (latencyMs !== UNKNOWN_LATENCY) this.#latencies?.add(latencyMs)
  }

  /** Milliseconds until its circuit breaker admits requests; 0: it is closed. */
  get openForMs(): number {
    return this.#breakers?.openForMs(this.#nowMs()) ?? 0
  }

  /** Whether the circuit breaker of a node is not closed. */
  isOpen(node: UpstreamNode): boolean {
    return this.#breakers?.isOpen(node) ?? false
  }

  /** See {@link UpstreamOptions.isDrained}. */
  isDrained(node: UpstreamNode): boolean {
    return this.#options.isDrained?.(node.id) ?? false
  }

  /** Applies changed results of {@link isDrained} to new requests. */
  applyDrains(): void {
    this.#breakers?.keepOnly(this.#nodes.filter((node) => !this.isDrained(node)))
    this.#regroup()
  }

  /** Its monotonic clock. */
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
   * Excludes drained nodes, draining nodes while others are usable, and remote nodes while there is one in this
   * process: remote ones may be stale.
   */
  #regroup(): void {
    const { findCaller } = this.#options
    const hasDrained = this.#nodes.some((node) => this.isDrained(node))
    const nodes = hasDrained ? this.#nodes.filter((node) => !this.isDrained(node)) : this.#nodes
    const isLeaving = nodes.some(({ draining }) => draining)
    const staying = isLeaving ? nodes.filter(({ draining }) => !draining) : nodes
    const near = staying.filter((node) => findCaller?.(node) !== undefined)
    const enough = staying.some(({ ejectedUntilMs }) => ejectedUntilMs === 0)
    this.#health.update(near.length > 0 ? near : enough ? staying : nodes)
    this.#build()
  }

  #openChecks(): void {
    this.#checks?.close()
    const { health } = this.#policies
    const { shareCheck } = this.#options
    const onChange = (node: UpstreamNode, reason: string): void => {
      if (reason === '') this.#warm([node])
      this.#options.onHealth?.(node, reason)
      this.#regroup()
    }
    this.#checks =
      health &&
      new ActiveChecks(
        health,
        onChange,
        shareCheck && ((key, handlers) => shareCheck(`${this.domain} ${key}`, handlers)),
      )
    this.#checkNodes()
  }

  #openBreakers(): void {
    const { breaker } = this.#policies
    this.#breakers =
      breaker &&
      new CircuitBreakers(breaker, (node, isOpen) => this.#options.onBreaker?.(node, isOpen))
  }

  /** Nodes of this process need no checks. */
  #checkNodes(): void {
    const { findCaller } = this.#options
    this.#checks?.update(this.#nodes.filter((node) => findCaller?.(node) === undefined))
  }

  #warm(nodes: readonly UpstreamNode[]): void {
    const { slowStartMs } = this.#policies
    if (slowStartMs === 0 || nodes.length === 0) return
    const untilMs = Math.ceil(this.#nowMs() + slowStartMs)
    this.#warmUntilMs = untilMs
    for (const node of nodes) node.warmUntilMs = untilMs
  }

  /** Replaces a node in its slow start by another one, except for its current share of the requests. */
  #spare(node: UpstreamNode | undefined, x: Exchange | undefined): UpstreamNode | undefined {
    const nowMs = this.#nowMs()
    if (nowMs >= this.#warmUntilMs) {
      this.#warmUntilMs = 0
      for (const each of this.#nodes) each.warmUntilMs = 0
    }
    if (node === undefined || node.warmUntilMs <= nowMs || this.#balancer.isBound?.(x)) return node
    const share = 1 - (node.warmUntilMs - nowMs) / this.#policies.slowStartMs
    const isDue = (this.#randomBits() >>> 0) / 2 ** 32 < Math.max(share, MIN_WARM_SHARE)
    return isDue ? node : this.#balancer.pick(x, node)
  }

  /** Replaces a node at its concurrency limit by the one with the fewest requests in flight. */
  #replaceFull(node: UpstreamNode | undefined): UpstreamNode | undefined {
    if (node === undefined || node.active < this.maxPerNode) return node
    const open = this.#health.usable.filter((each) => !each.isUnhealthy)
    return open.reduce((least, each) => (each.active < least.active ? each : least), node)
  }

  #pickUntried(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    const node = this.#balancer.pick(x, last)
    if (node !== undefined && !tried.includes(node)) return node
    const others = this.others(tried)
    const selected = selectNodes(others, others, this.#policies)
    // A table for one request costs more than the shares it evens out.
    const { kind } = this.#balance
    const balance = kind === 'maglev' ? { ...this.#balance, kind: 'hash' as const } : this.#balance
    return createBalancer(balance, selected, this.#randomBits).pick(x, last)
  }

  #build(): void {
    const { usable, nodes } = this.#health
    const hasUnhealthy = this.#checks !== undefined && usable.some((node) => node.isUnhealthy)
    const healthy = hasUnhealthy ? usable.filter((node) => !node.isUnhealthy) : usable
    const selected = selectNodes(nodes, healthy, this.#policies)
    const balancer = createBalancer(this.#balance, selected, this.#randomBits)
    this.#balancer = this.#sticky?.wrap(balancer, selected) ?? balancer
  }
}

/** Selects the subset of this process. */
const PROCESS_ID = randomUUID()
/** Share of the requests with which a slow start begins. */
const MIN_WARM_SHARE = 0.1
const MIXED =
  'the node speaks gRPC but other nodes of its service do not: register them under another name'

function isOfGrpc({ metadata }: Node): boolean {
  return Object.hasOwn(metadata, 'protocol') && /^grpcs?$/.test(metadata['protocol']!)
}

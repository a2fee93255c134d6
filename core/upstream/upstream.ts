import type { LookupFunction } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Endpoint, Node, Service } from '../contracts/registry.ts'
import type { Exchange } from '../exchange.ts'
import { DEFAULT_DOMAIN, isSameMap, POLICY } from '../registry/service.ts'
import { collectSettings } from '../registry/setting-metadata.ts'
import type { Caller } from '../rpc/caller.ts'
import { createBalancer } from './balance/balancer.ts'
import type { BalanceOptions, Balancer } from './balance/policy.ts'
import { createSticky, type Sticky } from './balance/sticky.ts'
import { createRandomBits } from './balance/weighted.ts'
import type { Http2Pool } from './http2/pool.ts'
import { HEALTHY, UpstreamNode } from './node-health.ts'
import type { NodeHost } from './node-host.ts'
import { type EjectionOptions, OutlierDetector } from './outlier-detection.ts'
import { isOffline, type NodeSettings, parseNode } from './parse-node.ts'
import type { Pool } from './pool/pool.ts'
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
  readonly ejection?: EjectionOptions
  /**
   * Applies settings of the service's metadata (`mx/...`) when they change, and returns policy and `Host` that are then in force.
   *
   * @default they are ignored
   */
  readonly onSettings?:
    | ((metadata: Readonly<Record<string, string>>) => Pick<UpstreamOptions, 'balance' | 'host'>)
    | undefined
  /** Monotonic clock, milliseconds. @default performance.now */
  readonly nowMs?: () => number
  /** Returns 32 random bits as a signed integer. @default seeded by Math.random */
  readonly randomBits?: () => number
  /** Called once for each registry entry that cannot be used. */
  readonly onSkip?: (node: Node, reason: string) => void
  /** Called when a node is ejected for `forMs` milliseconds. */
  readonly onEject?: (node: UpstreamNode, forMs: number) => void
  /** Called when a request or call is retried. */
  readonly onRetry?: (() => void) | undefined
  /** Called when an ejected node returns. */
  readonly onReturn?: (node: UpstreamNode) => void
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
  #options: UpstreamOptions
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
  /** Why nodes were skipped in the last update, by id. */
  #skipped: ReadonlyMap<string, string> = NOTHING

  constructor(name: string, options: UpstreamOptions) {
    this.name = name
    this.domain = options.domain ?? DEFAULT_DOMAIN
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#randomBits = options.randomBits ?? createRandomBits()
    this.#health = new OutlierDetector(options.ejection, options.onEject, options.onReturn)
    this.rebalance(options.balance)
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

  /** `Host` of requests; undefined: the host of the client. */
  get host(): NodeHost | undefined {
    return this.#options.host
  }

  /** Changes the load-balancing policy. */
  rebalance(balance: BalanceOptions = { kind: 'round-robin' }): void {
    this.#balance = balance
    this.#sticky = balance.sticky && createSticky(this.name, balance.sticky)
    this.#balancer = this.#build()
  }

  /**
   * Applies changed settings.
   *
   * @returns true if nodes need other connections: the next {@link update} replaces them.
   */
  configure({ balance, tls, host }: UpstreamOptions): boolean {
    this.rebalance(balance)
    const { tls: oldTls, host: oldHost } = this.#options
    if (tls?.id === oldTls?.id && isDeepStrictEqual(host, oldHost)) return false
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
    const nodes = [...next.values()]
    changed ||= nodes.length !== this.#nodes.length
    if (!changed && nodes.every((node, i) => node === this.#nodes[i])) return
    this.#nodes = nodes
    this.#regroup()
    for (const node of known.values()) {
      if (next.get(node.id) !== node) node.retire()
    }
  }

  #applySettings(services: readonly Service[]): void {
    const { onSettings, host: oldHost } = this.#options
    if (onSettings === undefined || services.length === 0) return
    const settings = collectSettings(services)
    if (this.#settings !== undefined && isSameMap(settings, this.#settings)) return
    this.#settings = settings
    const { balance, host } = onSettings(settings)
    if (!isDeepStrictEqual(balance, this.#balance)) this.rebalance(balance)
    // Other options replace the nodes.
    if (!isDeepStrictEqual(host, oldHost)) this.#options = { ...this.#options, host }
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
    if (tried !== undefined && tried.length > 0) return this.#pickUntried(x, last, tried)
    if (
      this.#health.nextTrialMs !== Number.POSITIVE_INFINITY &&
      this.#balancer.isBound?.(x) !== true
    ) {
      const node = this.#health.takeTrial(this.#nowMs(), last)
      if (node !== undefined) return node
    }
    return this.#balancer.pick(x, last)
  }

  /** Candidates except the nodes already tried: usable ones, else ejected ones. */
  others(tried: readonly UpstreamNode[]): readonly UpstreamNode[] {
    const { usable, nodes } = this.#health
    const isOther = (node: UpstreamNode): boolean => !tried.includes(node)
    const left = usable.filter(isOther)
    return left.length > 0 ? left : nodes.filter(isOther)
  }

  /** Records a response that is not a gateway error. */
  succeeded(node: UpstreamNode): void {
    if (node.record === HEALTHY) return
    if (this.#health.succeeded(node)) this.#regroup()
  }

  /**
   * Records a failure: the node accepted no connection (`connect`); its response was malformed, late or incomplete
   * (`gateway`), or 502, 503 or 504 (`status`).
   */
  failed(node: UpstreamNode, kind: 'connect' | 'gateway' | 'status'): void {
    if (
      kind === 'connect' &&
      this.#nodes.includes(node) &&
      this.#options.onConnectionRefused?.(node)
    )
      return
    if (kind !== 'status') return this.#fail(node, kind)
    if (this.#options.ejection?.countsStatus === true) this.#fail(node, 'gateway')
    else this.succeeded(node)
  }

  #fail(node: UpstreamNode, kind: 'connect' | 'gateway'): void {
    if (this.#health.failed(node, kind, this.#nowMs())) this.#balancer = this.#build()
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
   * Excludes draining nodes while others are usable, and remote nodes while there is one in this process: remote ones
   * may be stale.
   */
  #regroup(): void {
    const { findCaller } = this.#options
    const isLeaving = this.#nodes.some(({ draining }) => draining)
    const staying = isLeaving ? this.#nodes.filter(({ draining }) => !draining) : this.#nodes
    const near = staying.filter((node) => findCaller?.(node) !== undefined)
    const enough = staying.some(({ ejectedUntilMs }) => ejectedUntilMs === 0)
    this.#health.update(near.length > 0 ? near : enough ? staying : this.#nodes)
    this.#balancer = this.#build()
  }

  #pickUntried(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    const node = this.#balancer.pick(x, last)
    if (node !== undefined && !tried.includes(node)) return node
    const others = toPreferred(this.others(tried))
    return createBalancer(this.#balance, others, this.#randomBits).pick(x, last)
  }

  #build(): Balancer {
    const usable = toPreferred(this.#health.usable)
    const balancer = createBalancer(this.#balance, usable, this.#randomBits)
    return this.#sticky?.wrap(balancer, usable) ?? balancer
  }
}

/** Nodes of the smallest priority. Mostly the same array: a copy per service would take memory. */
function toPreferred(nodes: readonly UpstreamNode[]): readonly UpstreamNode[] {
  const smallest = nodes.reduce(
    (min, { priority }) => Math.min(min, priority),
    Number.POSITIVE_INFINITY,
  )
  return nodes.every(({ priority }) => priority === smallest)
    ? nodes
    : nodes.filter(({ priority }) => priority === smallest)
}

const MIXED =
  'it speaks gRPC but other nodes of its service do not: register them under another name'

function isOfGrpc({ metadata }: Node): boolean {
  return Object.hasOwn(metadata, 'protocol') && /^grpcs?$/.test(metadata['protocol']!)
}

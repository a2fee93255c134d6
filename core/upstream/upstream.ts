import type { LookupFunction } from 'node:net'
import type { Endpoint, Node, Service } from '../contracts/registry.ts'
import type { Exchange } from '../exchange.ts'
import { DEFAULT_DOMAIN } from '../registry/service.ts'
import type { Caller } from '../rpc/caller.ts'
import { createBalancer } from './balance/balancer.ts'
import type { BalanceOptions, Balancer } from './balance/policy.ts'
import { createSticky, type Sticky } from './balance/sticky.ts'
import { createRandomBits } from './balance/weighted.ts'
import type { Http2Pool } from './http2/pool.ts'
import { HEALTHY, UpstreamNode } from './node-health.ts'
import { type EjectionOptions, OutlierDetector } from './outlier-detection.ts'
import { isOffline, type NodeSettings, parseNode } from './parse-node.ts'
import type { Pool } from './pool/pool.ts'

/** What a pool of connections is opened from. */
export interface PoolAddress extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'pipeline'> {
  /** Resolves the host name. @default the resolver of the system */
  readonly lookup?: LookupFunction | undefined
}

export interface UpstreamOptions {
  /** The domain its service is in. @default mx */
  readonly domain?: string
  /** How nodes are chosen. @default round-robin */
  readonly balance?: BalanceOptions
  /** Makes the connections of a node, for the first request to it; `close` is called when the node is gone. */
  readonly createPool: (address: PoolAddress) => Pool
  /** The same for nodes that speak gRPC. @default they are not called */
  readonly createHttp2Pool?: (address: PoolAddress) => Http2Pool
  /** Carries the calls to a node of this process, without sockets, and never closed; other nodes are left alone while there is one. Undefined: the node is elsewhere. */
  readonly findCaller?: (node: UpstreamNode) => Caller | undefined
  readonly ejection?: EjectionOptions
  /** Milliseconds that only grow. @default performance.now */
  readonly nowMs?: () => number
  /** 32 random bits as a signed integer. @default seeded by Math.random */
  readonly randomBits?: () => number
  /** Told once of every registry entry that cannot be used, and why. */
  readonly onSkip?: (node: Node, reason: string) => void
  /** Told when a node is left out for `forMs` milliseconds after failures. */
  readonly onEject?: (node: UpstreamNode, forMs: number) => void
  /** Told when a request or a call is sent once more. */
  readonly onRetry?: (() => void) | undefined
  /** Told when an ejected node takes part again. */
  readonly onReturn?: (node: UpstreamNode) => void
  /** Told when a node took no connection. True: it is gone by now. */
  readonly onRefuse?: (node: UpstreamNode) => boolean
}

const NO_CHOICE: Balancer = { pick: () => undefined }
const NOTHING: ReadonlyMap<string, string> = new Map()

/**
 * The nodes of one service and the choice among them (all versions take part).
 *
 * What a choice needs is built when the usable nodes change; `pick` itself reads
 * tables and allocates nothing.
 */
export class Upstream {
  /** Full name of the service. */
  readonly name: string
  /** The domain the service is in. */
  readonly domain: string
  /** Whether a node was picked since the directory last looked. */
  used = true
  readonly #options: UpstreamOptions
  readonly #nowMs: () => number
  readonly #randomBits: () => number
  readonly #health: OutlierDetector
  #balance: BalanceOptions = { kind: 'round-robin' }
  #sticky: Sticky | undefined
  #nodes: readonly UpstreamNode[] = []
  #endpoints: ReadonlyMap<string, Endpoint> = new Map()
  #handler: string | undefined = undefined
  #grpc = false
  #balancer: Balancer = NO_CHOICE
  /** Why nodes were left out of the last update, by id. */
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

  /** All nodes, the ejected ones too. */
  get nodes(): readonly UpstreamNode[] {
    return this.#nodes
  }

  /** What the service declares, of all its versions, by name; empty: it declares nothing. */
  get endpoints(): ReadonlyMap<string, Endpoint> {
    return this.#endpoints
  }

  /** The handler its metadata asks for, where it declares nothing; undefined: none. */
  get handler(): string | undefined {
    return this.#handler
  }

  /** Whether its nodes speak gRPC: what is not gRPC is no request for them. */
  get grpc(): boolean {
    return this.#grpc
  }

  /**
   * The `Set-Cookie` value that binds the client to the node that answers; undefined when it is bound
   * to it already. Undefined itself without sticky balancing.
   */
  get replyCookie(): Sticky['replyCookie'] | undefined {
    return this.#sticky?.replyCookie
  }

  /** Chooses in another way from now on. */
  rebalance(balance: BalanceOptions = { kind: 'round-robin' }): void {
    this.#balance = balance
    this.#sticky = balance.sticky && createSticky(this.name, balance.sticky)
    this.#balancer = this.#build()
  }

  /** Takes over what the registry says. Unchanged nodes keep their connections and counters; those of the others are closed. */
  update(services: readonly Service[]): void {
    const endpoints = services.flatMap((service) => service.endpoints)
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
    const [metadata] = services.map((service) => service.metadata)
    this.#handler = endpoints.length === 0 ? metadata?.['handler'] : undefined
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
        const same = old !== undefined && isSame(old, settings)
        const node = same ? old : new UpstreamNode(this.name, entry.id, settings, this.#options)
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

  /**
   * The node for this request, or undefined when there is none.
   *
   * @param x undefined: of a call that is no HTTP request, and has nothing a choice could go by.
   * @param last the one it was sent to before: returned only when no other node is usable.
   * @param tried those it was sent to in vain: not returned.
   */
  pick(
    x: Exchange | undefined,
    last?: UpstreamNode,
    tried?: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    this.used = true
    if (tried !== undefined && tried.length > 0) return this.#pickOther(x, last, tried)
    if (
      this.#health.nextTrialMs !== Number.POSITIVE_INFINITY &&
      this.#balancer.isBound?.(x) !== true
    ) {
      const node = this.#health.takeTrial(this.#nowMs(), last)
      if (node !== undefined) return node
    }
    return this.#balancer.pick(x, last)
  }

  /** Where a request may go that these nodes have not served: to those that take part, else to those that are away. */
  others(tried: readonly UpstreamNode[]): readonly UpstreamNode[] {
    const { usable, nodes } = this.#health
    const isOther = (node: UpstreamNode): boolean => !tried.includes(node)
    const left = usable.filter(isOther)
    return left.length > 0 ? left : nodes.filter(isOther)
  }

  /** The node answered, and not with a gateway error. */
  succeeded(node: UpstreamNode): void {
    if (node.record === HEALTHY) return
    if (this.#health.succeeded(node)) this.#regroup()
  }

  /** The node accepted no connection (`connect`); its response was malformed, late or incomplete (`gateway`), or 502, 503 or 504 (`status`). */
  failed(node: UpstreamNode, kind: 'connect' | 'gateway' | 'status'): void {
    if (kind === 'connect' && this.#nodes.includes(node) && this.#options.onRefuse?.(node)) return
    if (kind !== 'status') return this.#fail(node, kind)
    if (this.#options.ejection?.countsStatus === true) this.#fail(node, 'gateway')
    else this.succeeded(node)
  }

  #fail(node: UpstreamNode, kind: 'connect' | 'gateway'): void {
    if (this.#health.failed(node, kind, this.#nowMs())) this.#balancer = this.#build()
  }

  /** A request or a call goes to a node for the second time, or a later one. */
  retried(): void {
    this.#options.onRetry?.()
  }

  /** Closes the connections of all nodes. */
  close(): void {
    this.update([])
  }

  /**
   * Leaves the draining nodes out of the choice, unless no other takes part; and whatever else is registered where one is called
   * without sockets: it is there, which others may only seem to be.
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

  #pickOther(
    x: Exchange | undefined,
    last: UpstreamNode | undefined,
    tried: readonly UpstreamNode[],
  ): UpstreamNode | undefined {
    const node = this.#balancer.pick(x, last)
    if (node !== undefined && !tried.includes(node)) return node
    return createBalancer(this.#balance, this.others(tried), this.#randomBits).pick(x, last)
  }

  #build(): Balancer {
    const { usable } = this.#health
    const balancer = createBalancer(this.#balance, usable, this.#randomBits)
    return this.#sticky?.wrap(balancer, usable) ?? balancer
  }
}

const MIXED =
  'it speaks gRPC, and other nodes of its service do not: register them under another name'

function isOfGrpc({ metadata }: Node): boolean {
  return Object.hasOwn(metadata, 'protocol') && /^grpcs?$/.test(metadata['protocol']!)
}

function isSame(
  node: UpstreamNode,
  { host, port, secure, protocol, weight, pipeline, resolved }: NodeSettings,
): boolean {
  return (
    node.host === host &&
    node.port === port &&
    node.secure === secure &&
    node.protocol === protocol &&
    node.weight === weight &&
    node.pipeline === pipeline &&
    node.resolved === resolved
  )
}

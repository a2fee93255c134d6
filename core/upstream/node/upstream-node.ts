import type { LookupFunction } from 'node:net'
import { createPinnedLookup } from '../../egress/pinned-lookup.ts'
import { type Caller, createCaller } from '../../rpc/caller.ts'
import type { ResponseWindow } from '../health/outlier-window.ts'
import type { Http2Pool } from '../http2/pool.ts'
import type { Pool } from '../pool/pool.ts'
import type { UpstreamTls } from '../tls.ts'
import { HEALTHY, type NodeFailures } from './node-failures.ts'
import { type NodeHost, toHostHeader } from './node-host.ts'
import type { NodeSettings } from './parse-node.ts'
import type { PoolAddress } from './pool-address.ts'

export interface NodeOptions {
  /** Creates the connections of a node on its first request. `close` is called when the node is removed. */
  readonly createPool: (address: PoolAddress) => Pool
  /** Creates the connections of a gRPC node. @default gRPC nodes are not called */
  readonly createHttp2Pool?: (address: PoolAddress) => Http2Pool
  /**
   * Returns the caller of a node in this process, which uses no sockets, is never closed, and is preferred over all
   * other nodes. Undefined for a remote node.
   */
  readonly findCaller?: (node: UpstreamNode) => Caller | undefined
  /** TLS settings of connections to nodes. @default verified by the system's authorities */
  readonly tls?: UpstreamTls | undefined
  /** `Host` of requests. @default the host requested by the client */
  readonly host?: NodeHost | undefined
}

/** Average latency in milliseconds at a time of the coarse clock. */
interface LatencyAverage {
  ms: number
  atMs: number
}

/** Connections to a node, created on the first request. */
interface Links {
  pool: Pool | undefined
  http2: Http2Pool | undefined
  caller: Caller | undefined
  hostHeader: string | undefined
  /** Whether the caller belongs to a service in this process and must not be closed. */
  isShared: boolean
  retired: boolean
}

/**
 * A backend address with its connections and health. The object stays the same as long as the service lists the node
 * unchanged.
 *
 * Memory matters with 100 000 nodes. Connections are created on the first request, since most nodes are never selected
 * by this process, and healthy nodes share their failure record (bench/registry/scale.ts).
 */
export class UpstreamNode {
  readonly id: string
  /** Full service name. */
  readonly service: string
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  readonly protocol: NodeSettings['protocol']
  /** Relative share of requests, 1 to 1000. */
  readonly weight: number
  /** Maximum pipelined requests per connection, 1 to 64. */
  readonly pipeline: number
  /** See {@link NodeSettings}. */
  readonly priority: number
  /** See {@link NodeSettings}. */
  readonly zone: string
  /**
   * Whether the node is shutting down: it completes its requests, and only gets new ones if no other node is available.
   */
  draining: boolean
  /** See {@link NodeSettings}. */
  readonly resolved: string
  active = 0
  /** {@link HEALTHY} if there are no failures. */
  failures: NodeFailures = HEALTHY
  /** Responses of the current interval; undefined before the first. */
  window: ResponseWindow | undefined = undefined
  /** Whether active health checks are failing. */
  isUnhealthy = false
  /** Only set for the `ewma` balancer. */
  latency: LatencyAverage | undefined = undefined
  /**
   * End of the time in which the node gets an increasing share of requests, on the upstream's clock; 0 for its full
   * share.
   */
  warmUntilMs = 0
  readonly #options: NodeOptions
  #links: Links | undefined = undefined

  constructor(service: string, id: string, settings: NodeSettings, options: NodeOptions) {
    this.id = id
    this.service = service
    this.host = settings.host
    this.port = settings.port
    this.secure = settings.secure
    this.protocol = settings.protocol
    this.weight = settings.weight
    this.pipeline = settings.pipeline
    this.priority = settings.priority
    this.zone = settings.zone
    this.draining = settings.draining
    this.resolved = settings.resolved
    this.#options = options
  }

  /** See {@link NodeFailures}. */
  get ejectedUntilMs(): number {
    return this.failures.ejectedUntilMs
  }

  /** Number of open HTTP connections. */
  get connections(): number {
    return (this.#links?.pool?.size ?? 0) + (this.#links?.http2?.size ?? 0)
  }

  /** DNS lookup for new connections; undefined for the system resolver. */
  get lookup(): LookupFunction | undefined {
    const { resolved } = this
    return resolved === '' ? undefined : createPinnedLookup(resolved.split(','))
  }

  /** TLS settings of new connections; undefined for the system's authorities. */
  get tls(): UpstreamTls | undefined {
    return this.#options.tls
  }

  /** `Host` of requests; undefined for the host requested by the client. */
  get hostHeader(): string | undefined {
    const setting = this.#options.host
    if (setting === undefined) return undefined
    const links = this.#openLinks()
    links.hostHeader ??= toHostHeader(setting, this)
    return links.hostHeader
  }

  /**
   * Creates a pool of further HTTP/1.1 connections.
   *
   * @param port 0 for the port of the node.
   * @param minKeepAliveMs minimum idle timeout of connections in milliseconds.
   */
  createPool(port: number, minKeepAliveMs: number = 0): Pool {
    const address = { ...this.#toAddress(), minKeepAliveMs }
    return this.#options.createPool(port === 0 ? address : { ...address, port })
  }

  /** HTTP/1.1 connections. */
  get pool(): Pool {
    return this.#links?.pool ?? this.#openPool()
  }

  /** HTTP/2 connections; undefined if not supported by the owner of the node. */
  get http2(): Http2Pool | undefined {
    return this.#links?.http2 ?? this.#openHttp2()
  }

  /** Caller for the node's protocol. */
  get caller(): Caller {
    return this.#links?.caller ?? this.#openCaller()
  }

  /** True if address, settings and options are the same, so that the node can stay in use. */
  isSame(settings: NodeSettings, options: NodeOptions): boolean {
    return (
      this.#options === options &&
      this.host === settings.host &&
      this.port === settings.port &&
      this.secure === settings.secure &&
      this.protocol === settings.protocol &&
      this.weight === settings.weight &&
      this.pipeline === settings.pipeline &&
      this.priority === settings.priority &&
      this.zone === settings.zone &&
      this.resolved === settings.resolved
    )
  }

  /** Closes the connections when the requests in flight have ended. */
  retire(): void {
    const links = this.#openLinks()
    links.retired = true
    links.pool?.close()
    links.http2?.close()
    if (!links.isShared) links.caller?.drain()
  }

  #openLinks(): Links {
    this.#links ??= {
      pool: undefined,
      http2: undefined,
      caller: undefined,
      hostHeader: undefined,
      isShared: false,
      retired: false,
    }
    return this.#links
  }

  #openPool(): Pool {
    const links = this.#openLinks()
    const pool = this.#options.createPool(this.#toAddress())
    links.pool = pool
    if (links.retired) pool.close()
    return pool
  }

  #openHttp2(): Http2Pool | undefined {
    const links = this.#openLinks()
    links.http2 = this.#options.createHttp2Pool?.(this.#toAddress())
    if (links.retired) links.http2?.close()
    return links.http2
  }

  #toAddress(): PoolAddress {
    const { host, port, secure, pipeline, lookup, tls } = this
    return { host, port, secure, pipeline, lookup, tls }
  }

  #openCaller(): Caller {
    const links = this.#openLinks()
    const shared = this.#options.findCaller?.(this)
    links.isShared = shared !== undefined
    const caller = shared ?? createCaller(this)
    links.caller = caller
    if (links.retired && !links.isShared) caller.drain()
    return caller
  }
}

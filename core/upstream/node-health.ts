import type { LookupFunction } from 'node:net'
import { createPinnedLookup } from '../egress/pinned-lookup.ts'
import { type Caller, createCaller } from '../rpc/caller.ts'
import type { Http2Pool } from './http2/pool.ts'
import type { NodeSettings } from './parse-node.ts'
import type { Pool } from './pool/pool.ts'
import type { UpstreamOptions } from './upstream.ts'

/** How a node is reached. */
export type NodeOptions = Pick<UpstreamOptions, 'createPool' | 'createHttp2Pool' | 'findCaller'>

/** The failures of a node. */
export interface NodeRecord {
  /** Gateway errors since its last success. */
  readonly failuresInRow: number
  /** Times it was ejected since its last success: each doubles the time it stays away. */
  readonly ejections: number
  /** When it is tried again, on the upstream's clock; 0: it takes part. */
  readonly ejectedUntilMs: number
  /** Ejected, and one request is finding out whether it is back. */
  readonly onTrial: boolean
}

/** Of all nodes that have not failed since their last success. */
export const HEALTHY: NodeRecord = {
  failuresInRow: 0,
  ejections: 0,
  ejectedUntilMs: 0,
  onTrial: false,
}

/** What leads to a node: made for the first request. */
interface Links {
  pool: Pool | undefined
  http2: Http2Pool | undefined
  caller: Caller | undefined
  /** The caller is that of a service of this process, and not the node's to close. */
  isShared: boolean
  retired: boolean
}

/**
 * A backend address requests can be sent to, with what is known about it. One object as long as its service lists it unchanged.
 *
 * Memory counts, of 100 000 of them: what leads to one is made for the first request, since most are never picked here, and
 * those that are well share their record (bench/registry/scale.ts).
 */
export class UpstreamNode {
  readonly id: string
  /** Full name of the service it belongs to. */
  readonly service: string
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** Whether it speaks TLS. */
  readonly secure: boolean
  readonly protocol: NodeSettings['protocol']
  /** Share of the requests, relative to the other nodes. 1 to 1000. */
  readonly weight: number
  /** Requests written ahead on one connection. 1 to 64. */
  readonly pipeline: number
  /** Whether it is about to leave: it finishes what it has, and gets nothing new while another node takes part. */
  draining: boolean
  /** As of {@link NodeSettings}. */
  readonly resolved: string
  /** Requests in flight. */
  active = 0
  /** Its failures; {@link HEALTHY}: it has none. */
  record: NodeRecord = HEALTHY
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
    this.draining = settings.draining
    this.resolved = settings.resolved
    this.#options = options
  }

  /** Gateway errors since its last success. */
  get failuresInRow(): number {
    return this.record.failuresInRow
  }

  /** Times it was ejected since its last success: each doubles the time it stays away. */
  get ejections(): number {
    return this.record.ejections
  }

  /** When it is tried again, on the upstream's clock; 0: it takes part. */
  get ejectedUntilMs(): number {
    return this.record.ejectedUntilMs
  }

  /** Open connections for HTTP. */
  get connections(): number {
    return (this.#links?.pool?.size ?? 0) + (this.#links?.http2?.size ?? 0)
  }

  /** Resolves its host name for a new connection; undefined: the system does. */
  get lookup(): LookupFunction | undefined {
    const { resolved } = this
    return resolved === '' ? undefined : createPinnedLookup(resolved.split(','))
  }

  /** Its connections for HTTP. */
  get pool(): Pool {
    return this.#links?.pool ?? this.#openPool()
  }

  /** Its connections for HTTP/2; undefined: whoever made the node has no use for them. */
  get http2(): Http2Pool | undefined {
    return this.#links?.http2 ?? this.#openHttp2()
  }

  /** Carries calls to it, in the form of the protocol that it speaks. */
  get caller(): Caller {
    return this.#links?.caller ?? this.#openCaller()
  }

  /** Closes its connections, once what is under way is over. */
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
      isShared: false,
      retired: false,
    }
    return this.#links
  }

  #openPool(): Pool {
    const { host, port, secure, pipeline, lookup } = this
    const links = this.#openLinks()
    const pool = this.#options.createPool({ host, port, secure, pipeline, lookup })
    links.pool = pool
    if (links.retired) pool.close()
    return pool
  }

  #openHttp2(): Http2Pool | undefined {
    const { host, port, secure, pipeline, lookup } = this
    const links = this.#openLinks()
    links.http2 = this.#options.createHttp2Pool?.({ host, port, secure, pipeline, lookup })
    if (links.retired) links.http2?.close()
    return links.http2
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

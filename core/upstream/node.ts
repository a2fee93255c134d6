import { type Caller, createCaller } from '../rpc/caller.ts'
import type { Http2Pool } from './http2-pool.ts'
import type { NodeSettings } from './parse-node.ts'
import type { Pool } from './pool.ts'
import type { UpstreamOptions } from './upstream.ts'

/** How a node is reached. */
export type NodeOptions = Pick<UpstreamOptions, 'createPool' | 'createHttp2Pool' | 'findCaller'>

/**
 * A backend address requests can be sent to, with what is known about it. One object as long as its service lists it unchanged.
 *
 * Connections are what costs memory: what holds them is made for the first request, since most nodes of many are never
 * picked here (bench/registry-scale.ts).
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
  /** Requests in flight. */
  active = 0
  /** Gateway errors since its last success. */
  failuresInRow = 0
  /** Times it was ejected since its last success: each doubles the time it stays away. */
  ejections = 0
  /** When it is tried again, on the upstream's clock; 0: it takes part. */
  ejectedUntilMs = 0
  /** Ejected, and one request is finding out whether it is back. */
  onTrial = false
  readonly #options: NodeOptions
  #pool: Pool | undefined = undefined
  #http2: Http2Pool | undefined = undefined
  #caller: Caller | undefined = undefined
  /** The caller is that of a service of this process, and not the node's to close. */
  #isShared = false
  #retired = false

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
    this.#options = options
  }

  /** Open connections for HTTP. */
  get connections(): number {
    return (this.#pool?.size ?? 0) + (this.#http2?.size ?? 0)
  }

  /** Its connections for HTTP. */
  get pool(): Pool {
    return this.#pool ?? this.#openPool()
  }

  /** Its connections for HTTP/2; undefined: whoever made the node has no use for them. */
  get http2(): Http2Pool | undefined {
    return this.#http2 ?? this.#openHttp2()
  }

  /** Carries calls to it, in the form of the protocol that it speaks. */
  get caller(): Caller {
    return this.#caller ?? this.#openCaller()
  }

  /** Closes its connections, once what is under way is over. */
  retire(): void {
    this.#retired = true
    this.#pool?.close()
    this.#http2?.close()
    if (!this.#isShared) this.#caller?.drain()
  }

  #openPool(): Pool {
    const { host, port, secure, pipeline } = this
    const pool = this.#options.createPool({ host, port, secure, pipeline })
    this.#pool = pool
    if (this.#retired) pool.close()
    return pool
  }

  #openHttp2(): Http2Pool | undefined {
    const { host, port, secure, pipeline } = this
    this.#http2 = this.#options.createHttp2Pool?.({ host, port, secure, pipeline })
    if (this.#retired) this.#http2?.close()
    return this.#http2
  }

  #openCaller(): Caller {
    const shared = this.#options.findCaller?.(this)
    this.#isShared = shared !== undefined
    const caller = shared ?? createCaller(this)
    this.#caller = caller
    if (this.#retired && !this.#isShared) caller.drain()
    return caller
  }
}

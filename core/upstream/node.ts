import type { Caller } from '../rpc/caller.ts'
import type { NodeSettings } from './parse-node.ts'
import type { Pool } from './pool.ts'

/** A backend address requests can be sent to, with what is known about it. One object as long as its service lists it unchanged. */
export interface UpstreamNode {
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
  active: number
  /** Its connections for HTTP. */
  readonly pool: Pool
  /** Carries calls to it, in the form of the protocol that it speaks. */
  readonly caller: Caller
  /** Gateway errors since its last success. */
  failuresInRow: number
  /** Times it was ejected since its last success: each doubles the time it stays away. */
  ejections: number
  /** When it is tried again, on the upstream's clock; 0: it takes part. */
  ejectedUntilMs: number
  /** Ejected, and one request is finding out whether it is back. */
  onTrial: boolean
}

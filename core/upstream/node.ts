import type { Pool } from './pool.ts'

/** A backend address requests can be sent to, with what is known about it. One object as long as its service lists it. */
export interface UpstreamNode {
  readonly id: string
  /** Full name of the service it belongs to. */
  readonly service: string
  /** Host name or IP address, without brackets. */
  readonly host: string
  readonly port: number
  /** Whether it speaks TLS. */
  readonly secure: boolean
  /** Share of the requests, relative to the other nodes. 1 to 1000. */
  readonly weight: number
  /** Requests in flight. */
  active: number
  /** Its connections. */
  readonly pool: Pool
}

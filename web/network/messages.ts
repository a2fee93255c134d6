/** Messages of the service `network` (docs/network.md). */
export interface Server {
  readonly id: string
  /** Empty if unknown. */
  readonly address: string
  readonly network: string
}

export interface Peer {
  readonly node: Server
  readonly peers: readonly Peer[]
}

export interface NetworkLink {
  readonly address: string
  /** Empty if unknown. */
  readonly id: string
  readonly state: 'connecting' | 'linked' | 'waiting' | 'asleep'
  readonly error: string
  readonly rtt_ms: number
  readonly calls: number
  readonly failures: number
  readonly sent_bytes: number
  readonly received_bytes: number
}

export interface NetworkStatus {
  readonly node: Server
  readonly links: readonly NetworkLink[]
  readonly listeners: readonly string[]
}

export interface NetworkRoute {
  readonly service: string
  /** `local` for services of this server. */
  readonly link: string
  readonly metric: number
  /** Ids of the servers along the route. */
  readonly path: readonly string[]
}

export interface RoutesPage {
  readonly routes: readonly NetworkRoute[]
  readonly next?: string
}

import { type TUnsafe, Type } from '../../core/schema.ts'
import type { LinkState } from './link.ts'

export interface ServerMessage {
  readonly id: string
  /** Address of the server's RPC proxy; empty if unknown. */
  readonly address: string
  readonly network: string
}

/** A server and its linked servers. */
export interface PeerMessage {
  readonly node: ServerMessage
  readonly peers: readonly PeerMessage[]
}

/** Filter for routes. Empty fields match all routes. */
export interface RouteQuery {
  readonly service: string
  /** Address of the server that provides the service. */
  readonly address: string
  /** Address of the next server. */
  readonly gateway: string
  /** Id of the next server, or of this server. */
  readonly router: string
  readonly network: string
}

/** A route to a service. */
export interface RouteMessage extends RouteQuery {
  /** `local` for services on this server, in which case `gateway` and `path` are empty. */
  readonly link: 'local' | 'network'
  readonly metric: number
  /** Ids of the servers on the route. */
  readonly path: readonly string[]
}

/** Request for a page of a list sorted by service name. */
export interface PageRequest {
  /** Maximum number of services. */
  readonly limit: number
  /** Service name after which the page starts; empty to start with the first service. */
  readonly after: string
}

/** A link opened by this server. */
export interface LinkMessage {
  readonly address: string
  /** Id of the peer; empty if unknown. */
  readonly id: string
  readonly state: LinkState
  /** Last error; empty if the link is established. */
  readonly error: string
  readonly rtt_ms: number
  readonly metric: number
  readonly calls: number
  readonly failures: number
  readonly sent_bytes: number
  readonly received_bytes: number
}

const STATES: readonly LinkState[] = ['connecting', 'linked', 'waiting', 'asleep']
const text = (description: string) => Type.String({ default: '', description })

export const Server: TUnsafe<ServerMessage> = Type.Unsafe(
  Type.Object({
    id: Type.String(),
    address: Type.String({ description: 'Address of its RPC proxy; empty if unknown.' }),
    network: Type.String(),
  }),
)

export const Peer: TUnsafe<PeerMessage> = Type.Unsafe(
  Type.Cyclic({ Peer: Type.Object({ node: Server, peers: Type.Array(Type.Ref('Peer')) }) }, 'Peer'),
)

export const Depth: TUnsafe<number> = Type.Unsafe(
  Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Maximum distance in links; 0 for unlimited.',
  }),
)

export const Query: TUnsafe<RouteQuery> = Type.Unsafe(
  Type.Object(
    {
      service: text('Full name.'),
      address: text('Address of the server with the service.'),
      gateway: text('Address of the next server.'),
      router: text('Id of the next server, or of this one.'),
      network: text('Name of the network.'),
    },
    { default: {} },
  ),
)

export const Route: TUnsafe<RouteMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String(),
    address: Type.String({
      description: 'Address of the server with the service; empty if unknown.',
    }),
    gateway: Type.String({ description: 'Address of the next server; empty if local.' }),
    network: Type.String(),
    router: Type.String({ description: 'Id of the next server, or of this one.' }),
    link: Type.Union([Type.Literal('local'), Type.Literal('network')]),
    metric: Type.Integer({
      description: 'Cost of the route: 1 per link, plus 1 per 5 ms.',
    }),
    path: Type.Array(Type.String(), { description: 'Ids of the servers on the route.' }),
  }),
)

export const Limit: TUnsafe<number> = Type.Unsafe(
  Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 1000,
    description: 'Maximum number of services.',
  }),
)
export const After: TUnsafe<string> = Type.Unsafe(
  text('Name of a service; returns the services after it.'),
)
export const Next: TUnsafe<string> = Type.Unsafe(
  Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
)

export const LinkStatus: TUnsafe<LinkMessage> = Type.Unsafe(
  Type.Object({
    address: Type.String({ description: 'Address of the RPC proxy of the peer.' }),
    id: Type.String({ description: 'Id of the peer; empty if unknown.' }),
    state: Type.Union(
      STATES.map((state) => Type.Literal(state)),
      { description: 'waiting: will be retried; asleep: not needed.' },
    ),
    error: Type.String({ description: 'Error; empty if established.' }),
    rtt_ms: Type.Number(),
    metric: Type.Integer({ description: 'Cost that the link adds to a route.' }),
    calls: Type.Integer({ description: 'Calls sent to the peer.' }),
    failures: Type.Integer({
      description: 'Calls without a result, or with a status of 500 or above.',
    }),
    sent_bytes: Type.Integer(),
    received_bytes: Type.Integer(),
  }),
)

import { type TUnsafe, Type } from '../../core/schema.ts'
import type { LinkState } from './link.ts'

/** A server as callers are told it. */
export interface ServerMessage {
  readonly id: string
  /** Where its RPC proxy is reached; empty: unknown. */
  readonly address: string
  readonly network: string
}

/** A server, and those it is linked with. */
export interface PeerMessage {
  readonly node: ServerMessage
  readonly peers: readonly PeerMessage[]
}

/** Which routes; what is empty does not matter. */
export interface RouteQuery {
  /** Full name. */
  readonly service: string
  /** Of the server that has it. */
  readonly address: string
  /** Address of the next server. */
  readonly gateway: string
  /** Id of the next server, or of this one. */
  readonly router: string
  readonly network: string
}

/** A way to a service. */
export interface RouteMessage extends RouteQuery {
  /** `local`: it is here, and `gateway` and `path` are empty. */
  readonly link: 'local' | 'network'
  readonly metric: number
  /** Ids of the servers on the way. */
  readonly path: readonly string[]
}

/** Which part of a list that is sorted by the names of services. */
export interface PageRequest {
  /** Most services. */
  readonly limit: number
  /** Those behind this name; empty: from the first one. */
  readonly after: string
}

/** A link this server has opened. */
export interface LinkMessage {
  readonly address: string
  /** Of the peer; empty: unknown. */
  readonly id: string
  readonly state: LinkState
  /** Why it does not stand; empty: it does. */
  readonly error: string
  readonly rtt_ms: number
  readonly metric: number
  readonly calls: number
  readonly failures: number
  readonly sent_bytes: number
  readonly received_bytes: number
}

const STATES: readonly LinkState[] = ['connecting', 'linked', 'waiting', 'asleep']
const given = (description: string) => Type.String({ default: '', description })

export const Server: TUnsafe<ServerMessage> = Type.Unsafe(
  Type.Object({
    id: Type.String(),
    address: Type.String({ description: 'Where its RPC proxy is reached; empty: unknown.' }),
    network: Type.String(),
  }),
)

export const Peer: TUnsafe<PeerMessage> = Type.Unsafe(
  Type.Cyclic({ Peer: Type.Object({ node: Server, peers: Type.Array(Type.Ref('Peer')) }) }, 'Peer'),
)

/** How far is looked. */
export const Depth: TUnsafe<number> = Type.Unsafe(
  Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Links from this server, at most; 0: all there are.',
  }),
)

export const Query: TUnsafe<RouteQuery> = Type.Unsafe(
  Type.Object(
    {
      service: given('Full name.'),
      address: given('Of the server that has it.'),
      gateway: given('Address of the next server.'),
      router: given('Id of the next server, or of this one.'),
      network: given('Name of the network.'),
    },
    { default: {} },
  ),
)

export const Route: TUnsafe<RouteMessage> = Type.Unsafe(
  Type.Object({
    service: Type.String(),
    address: Type.String({ description: 'Of the server that has it; empty: unknown.' }),
    gateway: Type.String({ description: 'Address of the next server; empty: it is here.' }),
    network: Type.String(),
    router: Type.String({ description: 'Id of the next server, or of this one.' }),
    link: Type.Union([Type.Literal('local'), Type.Literal('network')]),
    metric: Type.Integer({
      description: 'What the way costs: 1 a link, and 1 more for 5 ms each.',
    }),
    path: Type.Array(Type.String(), { description: 'Ids of the servers on the way.' }),
  }),
)

export const Limit: TUnsafe<number> = Type.Unsafe(
  Type.Integer({ minimum: 1, maximum: 1000, default: 1000, description: 'Most services.' }),
)
export const After: TUnsafe<string> = Type.Unsafe(given('Name of a service: those behind it.'))
export const Next: TUnsafe<string> = Type.Unsafe(
  Type.String({ description: 'There are more: ask again, after this name.' }),
)

export const LinkStatus: TUnsafe<LinkMessage> = Type.Unsafe(
  Type.Object({
    address: Type.String({ description: 'Where the RPC proxy of the peer is.' }),
    id: Type.String({ description: 'Of the peer; empty: unknown.' }),
    state: Type.Union(
      STATES.map((state) => Type.Literal(state)),
      { description: 'waiting: it is tried again; asleep: it is not needed.' },
    ),
    error: Type.String({ description: 'Why it does not stand; empty: it does.' }),
    rtt_ms: Type.Number(),
    metric: Type.Integer({ description: 'What the link adds to a route.' }),
    calls: Type.Integer({ description: 'That were sent to the peer.' }),
    failures: Type.Integer({
      description: 'Calls without an answer, or with one of 500 and above.',
    }),
    sent_bytes: Type.Integer(),
    received_bytes: Type.Integer(),
  }),
)

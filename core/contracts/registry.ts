import type { Maybe } from '../../lib/async/maybe.ts'

/** One running copy of a service (specification: Service entry, Node). */
export interface Node {
  /** Unique within its service. */
  readonly id: string
  /** `host:port`; IPv6 in brackets. */
  readonly address: string
  /**
   * Known keys: `protocol` (`http`, `https`; `mx`, `mxs`: the call protocol, docs/protocol.md;
   * `grpc`, `grpcs`: gRPC over HTTP/2), `weight` (1 to 1000, default 1),
   * `pipeline` (requests written ahead on one connection, default 1), `state` (`draining`: about to leave, gets no new requests).
   */
  readonly metadata: Readonly<Record<string, string>>
}

/** A described request or response field (specification: Value). */
export interface Value {
  readonly name: string
  readonly type: string
  readonly values: readonly Value[]
}

/** A method of a service (specification: Endpoint). */
export interface Endpoint {
  /** `<Handler>.<Method>`. */
  readonly name: string
  readonly request: Value
  readonly response: Value
  readonly metadata: Readonly<Record<string, string>>
}

/** One version of a service (specification: Service entry). */
export interface Service {
  /** Full name, namespace included. */
  readonly name: string
  /** `latest` unless the service says otherwise. */
  readonly version: string
  readonly metadata: Readonly<Record<string, string>>
  readonly endpoints: readonly Endpoint[]
  readonly nodes: readonly Node[]
}

/**
 * What happened to one version of a service; `service` holds the state after it, no nodes when it is gone.
 *
 * Emission (specification: Registry; reference 6 and 15.23): an unseen name or version is `create`, another node, a node
 * less, or another description `update`, the last node's end, by whatever cause, `delete`, or `update` where the version stays known; a heartbeat is nothing.
 */
export interface RegistryEvent {
  readonly type: 'create' | 'update' | 'delete'
  readonly service: Service
}

/** How long a registration lives. */
export interface RegisterOptions {
  /** Seconds until an entry that is not registered again is dropped; 0: never. @default 0 */
  readonly ttlSeconds?: number
}

/** What is watched. */
export interface WatchOptions {
  /** Full name of the only service of interest. @default all services */
  readonly service?: string
  /**
   * Told with the reason when the registry cannot be asked any more, and with undefined once it answers again; not told: it
   * answers. What it does not name any more when it is back is told as events before undefined is, for that may be in doubt;
   * what is told later is not. A registry that is found to have started anew though no question failed was away for
   * no time: the reason, the events and undefined are told at once.
   */
  readonly onOutage?: (reason: Error | undefined) => void
  /**
   * Milliseconds since the watcher used the service. Where not all can be told of at once, those used last come first.
   *
   * @default in use all the time
   */
  readonly idleMs?: () => number
}

/**
 * Knows which services run where. Adapters store and tell; names, TTL rules and
 * node choice belong to their callers.
 *
 * Optional methods are capabilities: a read-only registry has no `register`,
 * and one without `watch` is asked again by its caller.
 */
export interface Registry {
  readonly name: string
  /**
   * All versions of a service, with their nodes; empty when there is none. A version that is known and does not run may be there
   * without nodes: requests of it are 503, not 404. @throws {Error} when the registry cannot be asked.
   */
  readonly getService: (name: string) => Maybe<readonly Service[]>
  /**
   * All versions of all services, to be looked at, not called: where reading the nodes would be a question for each service,
   * `nodes` is empty. @throws {Error} when the registry cannot be asked.
   */
  readonly listServices: () => Maybe<readonly Service[]>
  /**
   * The domains that services say to be in, as far as {@link listServices} and watching all have told: to be asked often. Absent: there
   * is none but its own.
   */
  readonly listDomains?: () => ReadonlySet<string>
  /**
   * Adds a version or merges its nodes by id; the same node again restarts its TTL. @throws {TypeError} for what is malformed; an error
   * whose `denied` is true when it is refused; any other when the registry cannot be told now.
   */
  readonly register?: (service: Service, options?: RegisterOptions) => Maybe<void>
  /** Removes the given nodes; a version left without nodes disappears. */
  readonly deregister?: (service: Service) => Maybe<void>
  /**
   * Calls `listener` after every change, expiry included, until the function that is returned is called. Events about one
   * service are in order. It lasts through outages of the registry. Told of all services, an event has nodes where
   * {@link listServices} has them; told of one, always.
   */
  readonly watch?: (listener: (event: RegistryEvent) => void, options?: WatchOptions) => () => void
  /** Releases timers and connections. */
  readonly close?: () => Maybe<void>
}

import type { Maybe } from '../../lib/async/maybe.ts'

/** A running instance of a service (specification: Service entry, Node). */
export interface Node {
  /** Unique within its service. */
  readonly id: string
  /** `host:port`; IPv6 in brackets. */
  readonly address: string
  /**
   * Known keys: `protocol` (`http`, `https`; `mx`, `mxs`: the call protocol, docs/protocol.md;
   * `grpc`, `grpcs`: gRPC over HTTP/2), `weight` (1 to 1000, default 1),
   * `pipeline` (pipelined requests per connection, default 1), `state` (`draining`: shutting down, receives no new requests).
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

/** A version of a service (specification: Service entry). */
export interface Service {
  /** Full name, namespace included. */
  readonly name: string
  /** @default 'latest' */
  readonly version: string
  readonly metadata: Readonly<Record<string, string>>
  readonly endpoints: readonly Endpoint[]
  readonly nodes: readonly Node[]
}

/**
 * A change of a version of a service; `service` is the state after it, without nodes when it was removed.
 *
 * Types (specification: Registry; reference 6 and 15.23): a new name or version is `create`; an added or removed node, or a changed
 * description is `update`; the end of the last node is `delete`, or `update` if the version stays known; a heartbeat is no event.
 */
export interface RegistryEvent {
  readonly type: 'create' | 'update' | 'delete'
  readonly service: Service
}

/** Options of a registration. */
export interface RegisterOptions {
  /** Seconds until an entry expires unless it is registered again; 0: never. @default 0 */
  readonly ttlSeconds?: number
}

/** Options of a watch. */
export interface WatchOptions {
  /** Full name of the service to watch. @default all services */
  readonly service?: string
  /**
   * Called with the reason when the registry becomes unavailable, and with undefined when it is available again; initially it is
   * available. Events for services that it no longer lists precede undefined, because they are uncertain; later events are not. If the
   * registry restarted although no query failed, the reason, the events and undefined follow each other at once.
   */
  readonly onOutage?: (reason: Error | undefined) => void
  /**
   * Milliseconds since the watcher used the service. If not all services can be watched at once, the last used ones come first.
   *
   * @default always in use
   */
  readonly idleMs?: () => number
}

/**
 * Stores which services run where. Adapters store and notify; callers handle names, TTL rules and load balancing.
 *
 * Optional methods are capabilities: a read-only registry has no `register`, and one without `watch` is polled by its caller.
 */
export interface Registry {
  readonly name: string
  /**
   * Returns all versions of a service, with their nodes; empty for an unknown service. A known version that does not run may have no
   * nodes: requests to it are 503, not 404. @throws {Error} when the registry is unavailable.
   */
  readonly getService: (name: string) => Maybe<readonly Service[]>
  /**
   * Returns all versions of all services, for display: `nodes` is empty if reading them would need a query per service.
   * @throws {Error} when the registry is unavailable.
   */
  readonly listServices: () => Maybe<readonly Service[]>
  /**
   * Returns the domains of services that {@link listServices} and watches have found; cheap. Absent: the registry has a single domain.
   */
  readonly listDomains?: () => ReadonlySet<string>
  /**
   * Adds a version or merges its nodes by id; registering a node again restarts its TTL. @throws {TypeError} for malformed input; an
   * error with `denied` true when it is rejected; any other when the registry is unavailable.
   */
  readonly register?: (service: Service, options?: RegisterOptions) => Maybe<void>
  /** Removes the given nodes; a version without nodes is removed. */
  readonly deregister?: (service: Service) => Maybe<void>
  /**
   * Calls `listener` after every change, including expiry, until the returned function is called. Events of one service are ordered.
   * Continues across outages of the registry. For all services, an event has nodes if {@link listServices} has; for one, always.
   */
  readonly watch?: (listener: (event: RegistryEvent) => void, options?: WatchOptions) => () => void
  /** Releases timers and connections. */
  readonly close?: () => Maybe<void>
}

import type { Maybe } from '../../lib/async/maybe.ts'

/** A running instance of a service (specification: Service entry, Node). */
export interface Node {
  /** Unique within its service. */
  readonly id: string
  /** `host:port`; IPv6 in brackets. */
  readonly address: string
  /**
   * Known keys: `protocol` (`http`, `https`; `mx`, `mxs`: the call protocol, docs/protocol.md; `grpc`, `grpcs`: gRPC
   * over HTTP/2), `weight` (1 to 1000, default 1), `pipeline` (pipelined requests per connection, default 1), `state`
   * (`draining`: shutting down, receives no new requests).
   */
  readonly metadata: Readonly<Record<string, string>>
}

/** Schema of a request or response field (specification: Value). */
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
  /** Full name including the namespace. */
  readonly name: string
  /** @default 'latest' */
  readonly version: string
  readonly metadata: Readonly<Record<string, string>>
  readonly endpoints: readonly Endpoint[]
  readonly nodes: readonly Node[]
}

/**
 * A change to a service version. `service` is the state after the change, without nodes if the version was removed.
 *
 * Types (specification: Registry; reference 6 and 15.23): a new name or version emits `create`. An added or removed
 * node, or a changed description, emits `update`. The removal of the last node emits `delete`, or `update` if the
 * version is retained. Heartbeats emit no event.
 */
export interface RegistryEvent {
  readonly type: 'create' | 'update' | 'delete'
  readonly service: Service
}

/** Options of a registration. */
export interface RegisterOptions {
  /** Seconds until the entry expires unless it is registered again. 0 disables expiry. @default 0 */
  readonly ttlSeconds?: number
}

/** Options of a watch. */
export interface WatchOptions {
  /** Full name of the service to watch. @default all services */
  readonly service?: string
  /**
   * Called with the reason when the registry becomes unavailable, and with undefined once it is available again. It is
   * initially available. Delete events for services missing after an outage precede the call with undefined, because
   * they are uncertain; later events are certain. If the registry restarted without a failed query, the reason, these
   * events and undefined follow each other immediately.
   */
  readonly onOutage?: (reason: Error | undefined) => void
  /**
   * Returns the milliseconds since the watcher last used the service. If the registry cannot watch all services
   * simultaneously, it prefers the most recently used ones.
   *
   * @default always in use
   */
  readonly idleMs?: () => number
}

/**
 * Stores which services run where. Adapters store and notify. Callers handle names, TTL rules and load balancing.
 *
 * Optional methods are capabilities: a read-only registry has no `register`, and the caller polls a registry without
 * `watch`.
 */
export interface Registry {
  readonly name: string
  /**
   * Returns all versions of a service with their nodes, or an empty list for an unknown service. A version without
   * nodes is known but not running: requests to it fail with 503, not 404. @throws {Error} if the registry is
   * unavailable.
   */
  readonly getService: (name: string) => Maybe<readonly Service[]>
  /**
   * Returns all versions of all services for display. `nodes` is empty if reading nodes would require a query per
   * service.
   * @throws {Error} if the registry is unavailable.
   */
  readonly listServices: () => Maybe<readonly Service[]>
  /**
   * Returns the domains of services found by {@link listServices} and watches, at low cost. Absent if the registry has
   * a single domain.
   */
  readonly listDomains?: () => ReadonlySet<string>
  /**
   * Adds a version or merges its nodes by id. Registering a node again restarts its TTL. @throws {TypeError} for
   * malformed input, an error with `denied` set to true if access is denied, and other errors if the registry is
   * unavailable.
   */
  readonly register?: (service: Service, options?: RegisterOptions) => Maybe<void>
  /** Removes the listed nodes. A version without nodes is removed. */
  readonly deregister?: (service: Service) => Maybe<void>
  /**
   * Calls `listener` after every change, including expiry, until the returned function is called. Events of a service
   * are ordered. The watch continues across outages. Events of a watch for one service always have nodes; events of a
   * watch for all services have nodes if {@link listServices} returns nodes.
   */
  readonly watch?: (listener: (event: RegistryEvent) => void, options?: WatchOptions) => () => void
  /** Releases timers and connections. */
  readonly close?: () => Maybe<void>
}

import type { Chain } from '../../core/chain.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import type { ResponseCaches } from '../../core/contracts/response-caches.ts'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import type { Listener } from '../../core/listener/listener.ts'
import type { ClientCa } from '../../core/listener/tls/client-ca.ts'
import type { Certificate, TlsSource } from '../../core/listener/tls/tls.ts'
import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import type { ServiceCache } from '../../core/registry/service-cache.ts'
import type { RouteCache } from '../../core/route-cache.ts'
import type { ConcurrencyLimits } from '../../core/upstream/concurrency/concurrency-limits.ts'
import type { UpstreamOptions } from '../../core/upstream/upstream-options.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import type { NodeControl } from '../../services/gateway/node-control.ts'
import type { Configuration } from '../config/types.ts'
import type { PlannedPlugin } from '../plugins/plan.ts'
import type { Log } from '../process/log.ts'
import type { EventSinks } from './handlers.ts'
import type { DrainedNode } from './nodes/drained-nodes.ts'
import type { ProcessNodes } from './nodes/process-nodes.ts'
import type { DomainRegistries } from './routing/domains.ts'

/**
 * Parts shared with the rest of the process. The gateway creates missing parts and does not close
 * shared ones.
 */
export interface ApiParts {
  /** Registry for services that are not configured. @default chosen by the settings */
  readonly registry?: Registry
  /** Registries of other domains, selected by `Mx-Namespace`. @default none */
  readonly domains?: DomainRegistries
  /** Targets of the `event` handler. @default the broker in the settings */
  readonly events?: EventSinks
  /** Authorizer that overrides the settings. @default chosen by the settings */
  readonly authorizer?: Authorizer
  /** Outgoing address policy. @default chosen by the settings */
  readonly egress?: EgressPolicy
  /** Finds callers of services in this process, for calls without sockets. @default none */
  readonly findCaller?: UpstreamOptions['findCaller']
  /** Limit of open files. @default the limit of the process */
  readonly fileLimit?: number
  /** Counts requests. @default none */
  readonly metrics?: RequestMetrics
  /** Broker whose dropped messages are exposed as metrics. @default none */
  readonly broker?: BrokerDrops
  /** Server certificates. @default chosen by the settings */
  readonly tls?: TlsSource | undefined
  /** CA of client certificates. @default chosen by the settings */
  readonly clientCa?: ClientCa | undefined
}

export interface GatewayServerOptions extends ApiParts {
  readonly configuration: Configuration
  readonly log: Log
  /** Whether other processes of this gateway listen on the same port. @default false */
  readonly shared?: boolean
  /** Shares health checks with the other processes. @default this process checks its nodes */
  readonly shareCheck?: UpstreamOptions['shareCheck']
  /** Nodes that an operator drained before startup. @default none */
  readonly drained?: readonly DrainedNode[] | undefined
  /**
   * Aborts the startup until the port is open. The reason of the abort is thrown after everything
   * is closed.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Configuration that applies to new requests. */
export interface ActiveConfiguration {
  readonly configuration: Configuration
  /** Plan of the plugins in chain order. */
  readonly plan: readonly PlannedPlugin[]
  readonly chain: Chain
  /** Registry including the configured services. */
  readonly registry: Registry
}

/** Messages dropped by a broker and its subscribers since startup. */
export type BrokerDrops = Pick<CheckedBroker, 'dropped' | 'droppedRemotely'>

/** Live statistics of a gateway. */
export interface GatewayStats {
  /** Undefined if metrics are disabled. */
  readonly metrics: RequestMetrics | undefined
  /** Number of requests in flight. */
  readonly inFlight: () => number
  /** Number of client connections. */
  readonly connections: () => number
  /** Service caches. */
  readonly directories: () => readonly ServiceCache[]
  readonly caches: () => readonly RouteCache[]
  readonly certificates: () => readonly Certificate[]
  readonly broker?: BrokerDrops | undefined
  readonly limits: ConcurrencyLimits
}

/** A running gateway. */
export interface GatewayServer {
  readonly listener: Listener['name']
  /** Actual port. */
  readonly port: number
  /** Actual port of `http2_address`; undefined if not set. */
  readonly http2Port: number | undefined
  /** Actual ports of the additional listeners of `listen:`, by name. */
  readonly otherPorts: ReadonlyMap<string, number>
  /** Number of requests in flight. */
  readonly inFlight: number
  /** Full names of the configured services. */
  readonly services: readonly string[]
  /** Names of the plugins in chain order. */
  readonly plugins: readonly string[]
  readonly active: ActiveConfiguration
  /**
   * Returns one-line reasons why the gateway is not ready: the registry or rules have not been
   * received since startup. Later outages are not included.
   */
  readonly problems: () => Maybe<readonly string[]>
  readonly measured: GatewayStats
  /** Nodes of the gateway in this process only. */
  readonly processNodes: ProcessNodes
  /** Response caches of this process. */
  readonly caches: Pick<ResponseCaches, 'purge'>
  /** Nodes of a gateway that consists of a single process. */
  readonly nodes: NodeControl
  /**
   * Applies a configuration to new requests and reloads the certificates. Requests in flight use
   * the previous configuration. Settings that require a restart remain unchanged and are logged.
   *
   * @throws {SettingsError} if a plugin cannot be built. Nothing is changed in this case.
   */
  readonly reload: (next: Configuration) => Promise<void>
  /**
   * Stops accepting connections, completes requests in flight within `drain_timeout`, then calls
   * {@link close}.
   *
   * @param hasSuccessor whether other processes serve the same port. Idle connections may then send
   * one more request within this time, whose response closes the connection. The port is closed
   * when this method returns.
   */
  readonly drain: (hasSuccessor?: boolean) => Promise<void>
  /** Closes all connections immediately, WebSockets with code 1012. */
  readonly close: () => Promise<void>
}

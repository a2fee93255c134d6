import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises'
import type { Chain } from '../../core/chain.ts'
import type { Authorizer } from '../../core/contracts/auth.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import { Gateway } from '../../core/gateway.ts'
import { bodyMemory, replyMemory } from '../../core/limits/memory-budget.ts'
import type { Listener } from '../../core/listener/listener.ts'
import type { ClientCa } from '../../core/listener/tls/client-ca.ts'
import type { Certificate, TlsSource } from '../../core/listener/tls/tls.ts'
import { toClientSocketsMax } from '../../core/listener/websocket/client-sockets.ts'
import type { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import type { ServiceCache } from '../../core/registry/service-cache.ts'
import type { RouteCache } from '../../core/route-cache.ts'
import type { UpstreamOptions } from '../../core/upstream/upstream.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createDisposer, type Disposer } from '../../lib/async/disposer.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { settlesWithin, untilAborted } from '../../lib/async/timeout.ts'
import { openTracer } from '../../sdk/tracing/open-tracer.ts'
import { listDnsServices, listNames } from '../config/configured-services.ts'
import { keepFixed } from '../config/load.ts'
import { reportReload } from '../config/report-reload.ts'
import type { Configuration } from '../config/types.ts'
import { type PlannedPlugin, planPlugins } from '../plugins/plan.ts'
import { budgetBackends, capConnections, readFileLimit } from '../process/file-limit.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { openRemoteAuthorizer } from '../rpc-proxy/remote-authorizer.ts'
import { openServerBroker } from '../server/open/broker.ts'
import type { Settings } from '../settings/settings.ts'
import { HOME_FOLDER, openTls, reloadTls } from '../tls/open.ts'
import { openClientCa } from './choose-listener.ts'
import type { EventSinks } from './handlers.ts'
import { logFaults } from './log-plugin-errors.ts'
import { openDns } from './open-dns.ts'
import { openListeners } from './open-listeners.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { compileRoutes } from './routes/compile-routes.ts'
import type { DomainRegistries } from './routing/domains.ts'
import { areEncodedSlashesServed } from './routing/encoded-slashes.ts'
import { createUpstreams } from './upstreams.ts'

/** Parts shared with the rest of the process, which the gateway does not close. It creates missing ones. */
export interface ApiParts {
  /** Registry for services that are not configured. @default by the settings */
  readonly registry?: Registry
  /** Registries of other domains, selected by `Mx-Namespace`. @default none */
  readonly domains?: DomainRegistries
  /** Targets of the handler `event`. @default the broker of the settings */
  readonly events?: EventSinks
  /** Authorizer, which overrides the settings. @default by the settings */
  readonly authorizer?: Authorizer
  /** Outgoing address policy. @default one of the settings */
  readonly egress?: EgressPolicy
  /** Finds callers of services in this process, for calls without sockets. @default none */
  readonly findCaller?: UpstreamOptions['findCaller']
  /** Limit of open files. @default limit of the process */
  readonly fileLimit?: number
  /** Counts requests. @default none */
  readonly metrics?: RequestMetrics
  /** Broker whose dropped messages are metrics. @default none */
  readonly broker?: BrokerDrops
  /** Server certificates. @default by the settings */
  readonly tls?: TlsSource | undefined
  /** CA of client certificates. @default by the settings */
  readonly clientCa?: ClientCa | undefined
}

export interface GatewayServerOptions extends ApiParts {
  readonly configuration: Configuration
  readonly log: Log
  /** Whether other processes of this gateway listen on the same port. @default false */
  readonly shared?: boolean
  /** Cancels the start until the port is open: throws its reason after closing everything. @default none */
  readonly signal?: AbortSignal
}

/** Configuration in effect for new requests. */
export interface ActiveConfiguration {
  readonly configuration: Configuration
  /** Plan of the plugins, in chain order. */
  readonly plan: readonly PlannedPlugin[]
  readonly chain: Chain
  /** Registry including the configured services. */
  readonly registry: Registry
}

/** Messages dropped by a broker and its subscribers since the start. */
export type BrokerDrops = Pick<CheckedBroker, 'dropped' | 'droppedRemotely'>

/** Live statistics of a gateway. */
export interface GatewayStats {
  /** Undefined: metrics are disabled. */
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
}

/** A running gateway. */
export interface GatewayServer {
  readonly listener: Listener['name']
  /** Actual port. */
  readonly port: number
  /** Actual port of `http2_address`; undefined: not set. */
  readonly http2Port: number | undefined
  /** Number of requests in flight. */
  readonly inFlight: number
  /** Full names of the configured services. */
  readonly services: readonly string[]
  /** Names of the plugins, in chain order. */
  readonly plugins: readonly string[]
  readonly inForce: ActiveConfiguration
  /** One-line reasons why the gateway is not ready: registry or rules were not received since the start. Later outages are not included. */
  readonly problems: () => Maybe<readonly string[]>
  readonly measured: GatewayStats
  /**
   * Applies a configuration to new requests, and reloads the certificates. Requests in flight use the previous one.
   * Settings that require a restart are unchanged, and logged.
   *
   * @throws {SettingsError} when a plugin cannot be built; nothing is changed then.
   */
  readonly reload: (next: Configuration) => Promise<void>
  /**
   * Stops accepting connections, completes requests in flight within `drain_timeout`, then calls {@link close}.
   *
   * @param hasSuccessor other processes serve the same port: idle connections may send one more request within this time, whose
   *   response closes the connection. The port is closed when this returns.
   */
  readonly drain: (hasSuccessor?: boolean) => Promise<void>
  /** Closes all connections immediately, WebSockets with code 1012. */
  readonly close: () => Promise<void>
}

/** Time for requests in transit on open connections; their responses close the connections. */
const LINGER_MS = 100
/** Default `service.name` of spans. */
const TRACED_AS = 'mx-api'

/**
 * Starts a gateway: plugins, registry, certificates, then the port.
 *
 * @throws {SettingsError} for an invalid or unsatisfiable configuration, {@link Error} with a one-line message for other
 *   failures; everything is closed then.
 */
export async function startGatewayServer(options: GatewayServerOptions): Promise<GatewayServer> {
  const closing = createDisposer()
  try {
    return await open(options, closing)
  } catch (error) {
    await closing.close()
    throw error
  }
}

async function open(options: GatewayServerOptions, closing: Disposer): Promise<GatewayServer> {
  const { log, shared = false, findCaller, domains } = options
  const configuration = withAuthorizer(options.configuration, options.authorizer)
  let current = configuration
  let requested = configuration.settings
  let plan = planPlugins(configuration)
  let hasEncodedSlashes = areEncodedSlashesServed(configuration)
  const { settings } = configuration
  const { fileLimit = readFileLimit() } = options
  if (settings.maxBufferedBytes !== 'auto') bodyMemory.maxBytes = settings.maxBufferedBytes
  if (settings.maxUnreadBytes !== 'auto') replyMemory.maxBytes = settings.maxUnreadBytes
  const maxConnections = capConnections(settings.maxConnections, fileLimit, log)
  const upstreams = createUpstreams(configuration, {
    maxConnections: budgetBackends(maxConnections, fileLimit),
    findCaller,
    metrics: options.metrics,
    log,
  })
  const traced = await openTracer({ name: TRACED_AS, version: readVersion() }, log)
  closing.add(() => traced?.close())
  const remote =
    options.authorizer === undefined
      ? await openRemoteAuthorizer(settings, log, closing)
      : undefined
  let replace: Pipeline['replace'] | undefined
  const dns = openDns(log, (services) => replace?.(services))
  closing.add(dns.close)
  const services = await dns.use(listDnsServices(configuration))
  const deciding = await openPipeline(
    {
      configuration,
      current: () => current,
      registry: options.registry,
      domains,
      events: options.events ?? (await openSinks(settings, log, closing)),
      authorizer: options.authorizer ?? remote?.authorizer,
      tracer: traced?.tracer,
      egress: options.egress,
      upstream: upstreams.of,
      services,
      log,
    },
    closing,
  )
  const { routing, registry, problem, buildChain } = deciding
  replace = deciding.replace
  replace(dns.list())
  const chain = await buildChain(configuration, plan)

  const gateway = new Gateway({
    chain,
    onFault: logFaults(log),
    parkTimeoutMs: () => current.settings.replyTimeoutMs,
    metrics: options.metrics,
  })
  closing.add(() => gateway.close())
  const tls = options.tls ?? (await openOwnTls(settings, log, closing))
  const clientCa = options.clientCa ?? openOwnClientCa(settings, log, closing)
  if (routing.ready !== undefined)
    await (options.signal ? untilAborted(routing.ready, options.signal) : routing.ready)
  options.signal?.throwIfAborted()
  const listener = await openListeners(
    settings,
    {
      shared,
      tls,
      clientCa,
      maxConnections,
      maxMessageBytes: settings.maxMessageBytes,
      maxClientSockets: toClientSocketsMax(settings.maxClientWebSockets, settings.maxMessageBytes),
      clientKeepAliveMs: settings.clientKeepAliveMs,
      onUnreadable: () =>
        log.warn(
          { listener: 'uws' },
          'a connection ended without a request that this listener can read. Proxies that send HTTP/1.0 get 505 (nginx without proxy_http_version 1.1): configure HTTP/1.1 in the proxy, or set listener to node. TCP health checks cause this message, too',
        ),
      encodedSlashes: () => hasEncodedSlashes,
      handle: gateway.handle,
    },
    log,
  )
  closing.add(() => listener.close())
  const release = tls?.onChange(({ length }) =>
    log.info(
      settings.enableAcme ? { certificates: length } : { files: settings.tlsCertFiles },
      'new certificates are in use',
    ),
  )
  closing.add(() => release?.())

  const reload = async (reloaded: Configuration): Promise<void> => {
    const next = withAuthorizer(reloaded, options.authorizer)
    const { settings, restart } = keepFixed(current.settings, next.settings, requested)
    const merged = { ...next, settings }
    // Everything that may fail comes first: a rejected configuration must not change anything.
    const nextPlan = planPlugins(merged)
    const routes = compileRoutes(merged)
    const chain = await buildChain(merged, nextPlan)
    const services = await dns.use(listDnsServices(merged))
    const before = current
    current = merged
    requested = next.settings
    plan = nextPlan
    hasEncodedSlashes = areEncodedSlashesServed(merged)
    upstreams.use(merged)
    log.level = settings.logLevel
    deciding.replace(services)
    deciding.replaceRoutes(routes)
    // Services removed from the configuration are gone deliberately: their nodes are not retained.
    routing.reconfigure([...listNames(before), ...listNames(merged)])
    gateway.use(chain)
    reloadTls(tls, log)
    reloadTls(clientCa, log)
    // With several processes, the primary reports.
    if (!shared) reportReload(before, merged, restart, log)
  }

  const drain = async (hasSuccessor = false): Promise<void> => {
    listener.drain(hasSuccessor)
    listener.closeTunnels()
    const { drainTimeoutMs } = current.settings
    const endMs = performance.now() + drainTimeoutMs
    const isWaiting = (): boolean => listener.connections > 0 && performance.now() < endMs
    await delay(Math.min(LINGER_MS, drainTimeoutMs))
    while (hasSuccessor && isWaiting()) await delay(LINGER_MS)
    // On a busy machine, received requests may not have been read yet.
    await nextTick()
    const leftMs = hasSuccessor ? Math.max(0, endMs - performance.now()) : drainTimeoutMs
    if (!(await settlesWithin(gateway.idle(), leftMs))) {
      const requests = gateway.inFlight
      log.warn({ requests }, 'drain_timeout exceeded, closing connections of requests in flight')
    }
    await closing.close()
  }

  return {
    listener: listener.name,
    port: listener.port,
    http2Port: listener.http2Port,
    get inFlight() {
      return gateway.inFlight
    },
    get services() {
      return listNames(current)
    },
    get plugins() {
      return plan.map(({ specifier }) => specifier)
    },
    get inForce() {
      return { configuration: current, plan, chain: gateway.chain, registry }
    },
    measured: {
      metrics: options.metrics,
      inFlight: () => gateway.inFlight,
      connections: () => listener.connections,
      directories: routing.directories,
      caches: routing.caches,
      certificates: () => tls?.pairs ?? [],
      broker: options.broker,
    },
    async problems() {
      const listMissing = [await problem(), remote?.problem()]
      return listMissing.filter((line) => line !== undefined)
    },
    reload,
    drain,
    close: closing.close,
  }
}

async function openSinks(settings: Settings, log: Log, closing: Disposer): Promise<EventSinks> {
  const broker = await openServerBroker(settings.broker, log)
  closing.add(() => broker.close?.())
  return { broker }
}

async function openOwnTls(
  settings: Settings,
  log: Log,
  closing: Disposer,
): Promise<TlsSource | undefined> {
  const tls = await openTls(settings, log, { folder: HOME_FOLDER })
  closing.add(() => tls?.close())
  return tls
}

function openOwnClientCa(settings: Settings, log: Log, closing: Disposer): ClientCa | undefined {
  const clientCa = openClientCa(settings, log)
  closing.add(() => clientCa?.close())
  return clientCa
}

/** Configuration of a gateway with the authorizer of its process. */
function withAuthorizer(
  configuration: Configuration,
  authorizer: Authorizer | undefined,
): Configuration {
  if (authorizer === undefined) return configuration
  return { ...configuration, settings: { ...configuration.settings, auth: 'own' } }
}

import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
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
import { listNames, listServices } from '../config/configured-services.ts'
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
import { openListeners } from './open-listeners.ts'
import { openPipeline } from './pipeline.ts'
import type { DomainRegistries } from './routing/domains.ts'
import { areEncodedSlashesServed } from './routing/encoded-slashes.ts'
import { createUpstreams } from './upstreams.ts'

/** What a gateway shares with the rest of its process, and does not close; it makes what it is not given. */
export interface ApiParts {
  /** Where services are looked up besides those of the configuration. @default by the settings */
  readonly registry?: Registry
  /** Registries of other domains, chosen by `Mx-Namespace`. @default there are none */
  readonly domains?: DomainRegistries
  /** Where the events of the handler `event` go. @default to the broker of the settings */
  readonly events?: EventSinks
  /** Decides who is let through, whatever the settings say. @default by the settings */
  readonly authorizer?: Authorizer
  /** Outgoing address policy. @default one of the settings */
  readonly egress?: EgressPolicy
  /** How services of this process are called without sockets. @default all are called at their ports */
  readonly findCaller?: UpstreamOptions['findCaller']
  /** Open files it may have. @default those of its process */
  readonly fileLimit?: number
  /** Counts its requests. @default nobody does */
  readonly metrics?: RequestMetrics
  /** Broker whose dropped messages are metrics. @default none */
  readonly broker?: BrokerDrops
  /** Its certificates. @default by the settings */
  readonly tls?: TlsSource | undefined
  /** Who issues those of clients. @default by the settings */
  readonly clientCa?: ClientCa | undefined
}

export interface GatewayServerOptions extends ApiParts {
  readonly configuration: Configuration
  readonly log: Log
  /** Whether other processes of this gateway listen on the same port. @default false */
  readonly shared?: boolean
  /** Gives the start up, as long as the port is not open: what was opened is closed, and its reason thrown. @default it goes on */
  readonly signal?: AbortSignal
}

/** What new requests are served by. */
export interface ActiveConfiguration {
  readonly configuration: Configuration
  /** As it was planned, plugin by plugin of the chain. */
  readonly plan: readonly PlannedPlugin[]
  readonly chain: Chain
  /** Where services are looked up, those of the configuration among them. */
  readonly registry: Registry
}

/** Messages that a broker and its subscribers dropped, since the start. */
export type BrokerDrops = Pick<CheckedBroker, 'dropped' | 'droppedRemotely'>

/** What there is to tell of a gateway in numbers, as it is when they are read. */
export interface GatewayStats {
  /** What it has counted; undefined: it counts nothing. */
  readonly metrics: RequestMetrics | undefined
  /** Requests not finished yet. */
  readonly inFlight: () => number
  /** Open connections of clients. */
  readonly connections: () => number
  /** The services in use. */
  readonly directories: () => readonly ServiceCache[]
  readonly caches: () => readonly RouteCache[]
  readonly certificates: () => readonly Certificate[]
  readonly broker?: BrokerDrops | undefined
}

/** A running gateway. */
export interface GatewayServer {
  readonly listener: Listener['name']
  /** The real port where 0 was asked for. */
  readonly port: number
  /** The real port of `http2_address`; undefined: there is none. */
  readonly http2Port: number | undefined
  /** Requests not finished yet. */
  readonly inFlight: number
  /** Full names of the services the configuration lists. */
  readonly services: readonly string[]
  /** Names of the plugins, in chain order. */
  readonly plugins: readonly string[]
  readonly inForce: ActiveConfiguration
  /** What it lacks to serve, a line each: a registry, or a platform's rules, that have not been told since the start. What is not told any more is none. */
  readonly problems: () => Maybe<readonly string[]>
  readonly measured: GatewayStats
  /**
   * Serves new requests by another configuration, and reads the certificates again. Running requests
   * finish by the old one. Settings that need a restart stay as they are, which the log tells.
   *
   * @throws {SettingsError} and changes nothing, when a plugin cannot be built.
   */
  readonly reload: (next: Configuration) => Promise<void>
  /**
   * Takes no more connections, finishes running requests up to `drain_timeout`, then {@link close}.
   *
   * @param hasSuccessor others serve the same port: connections there are may wait for their next request as long, too, and are told to
   *   close with its reply. The port is closed when this returns.
   */
  readonly drain: (hasSuccessor?: boolean) => Promise<void>
  /** Ends everything at once: WebSockets with 1012, requests by closing their connections. */
  readonly close: () => Promise<void>
}

/** For requests that are on their way over connections there are: each is the last one of its connection. */
const LINGER_MS = 100
/** `service.name` of a gateway's spans, where no variable gives another. */
const TRACED_AS = 'mx-api'

/**
 * Starts a gateway: plugins, registry, certificates, then the port.
 *
 * @throws {SettingsError} for what the configuration asks for and cannot be had, {@link Error} with one line
 *   for anything else; nothing is left open then.
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
      log,
    },
    closing,
  )
  const { routing, registry, problem, buildChain } = deciding
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
      encodedSlashes: areEncodedSlashesServed(settings),
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
    // Whatever can be wrong comes first: a refused configuration has changed nothing.
    const nextPlan = planPlugins(merged)
    const services = listServices(merged)
    const chain = await buildChain(merged, nextPlan)
    const before = current
    current = merged
    requested = next.settings
    plan = nextPlan
    upstreams.use(merged)
    log.level = settings.logLevel
    deciding.replace(services)
    // Whoever takes a service out of the configuration knows that it is gone.
    routing.reconfigure([...listNames(before), ...listNames(merged)])
    gateway.use(chain)
    reloadTls(tls, log)
    reloadTls(clientCa, log)
    // Of several processes, the primary reports.
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
    // Where the machine is busy, what has come by then is still to be read.
    await turn()
    const leftMs = hasSuccessor ? Math.max(0, endMs - performance.now()) : drainTimeoutMs
    if (!(await settlesWithin(gateway.idle(), leftMs))) {
      const requests = gateway.inFlight
      log.warn({ requests }, 'drain_timeout is over; cutting off what still runs')
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

/** The configuration of a gateway whose rules are those of its process. */
function withAuthorizer(
  configuration: Configuration,
  authorizer: Authorizer | undefined,
): Configuration {
  if (authorizer === undefined) return configuration
  return { ...configuration, settings: { ...configuration.settings, auth: 'own' } }
}

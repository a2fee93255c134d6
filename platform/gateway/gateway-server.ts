import { setTimeout as delay, setImmediate as nextTick } from 'node:timers/promises'
import type { Authorizer } from '../../core/contracts/auth.ts'
import { Gateway } from '../../core/gateway.ts'
import { bodyMemory, replyMemory } from '../../core/limits/memory-budget.ts'
import type { ClientCa } from '../../core/listener/tls/client-ca.ts'
import type { TlsSource } from '../../core/listener/tls/tls.ts'
import { toClientSocketsMax } from '../../core/listener/websocket/client-sockets.ts'
import { createDisposer, type Disposer } from '../../lib/async/disposer.ts'
import { settlesWithin, untilAborted } from '../../lib/async/timeout.ts'
import { openTracer } from '../../sdk/tracing/open-tracer.ts'
import { listDnsServices, listNames } from '../config/configured-services.ts'
import { assignRoles } from '../config/listen/main-listener.ts'
import { keepFixed } from '../config/load.ts'
import { reportReload } from '../config/report-reload.ts'
import type { Configuration } from '../config/types.ts'
import { planPlugins } from '../plugins/plan.ts'
import { createResponseCaches } from '../plugins/response-caches.ts'
import { budgetBackends, capConnections, readFileLimit } from '../process/file-limit.ts'
import type { Log } from '../process/log.ts'
import { readVersion } from '../process/version.ts'
import { openRemoteAuthorizer } from '../rpc-proxy/remote-authorizer.ts'
import { openServerBroker } from '../server/open/broker.ts'
import type { Settings } from '../settings/settings.ts'
import { HOME_FOLDER, openTls, reloadTls } from '../tls/open.ts'
import type { EventSinks } from './handlers.ts'
import { openClientCa } from './listeners/choose-listener.ts'
import { openListeners } from './listeners/open-listeners.ts'
import { openAdditionalListeners } from './listeners/open-others.ts'
import { logFaults } from './log-plugin-errors.ts'
import { DrainedNodes } from './nodes/drained-nodes.ts'
import { createNodeControl } from './nodes/node-control.ts'
import { createProcessNodes } from './nodes/process-nodes.ts'
import { openDns } from './open-dns.ts'
import { openPipeline, type Pipeline } from './pipeline.ts'
import { compileRoutes } from './routes/compile-routes.ts'
import { acceptsEncodedSlashes } from './routing/encoded-slashes.ts'
import type { GatewayServer, GatewayServerOptions } from './types.ts'
import { createUpstreams } from './upstreams.ts'

/**
 * Grace period for requests in transit on open connections, whose responses then close the
 * connections.
 */
const LINGER_MS = 100
const UNREADABLE_HINT =
  'configure HTTP/1.1 in proxies that send HTTP/1.0 and receive 505 (nginx without proxy_http_version 1.1), or set listener to node; TCP health checks also cause this warning'
/** Default `service.name` of spans. */
const TRACED_AS = 'mx-api'

/**
 * Starts a gateway: plugins, registry, certificates, then the port.
 *
 * @throws {SettingsError} for an invalid or unsatisfiable configuration.
 * @throws {Error} with a one-line message for other failures. Everything is closed in both cases.
 */
export async function startGatewayServer(options: GatewayServerOptions): Promise<GatewayServer> {
  const closing = createDisposer()
  try {
    return await options.configuration.config.references.hidden.guard(() => open(options, closing))
  } catch (error) {
    await closing.close()
    throw error
  }
}

async function open(options: GatewayServerOptions, closing: Disposer): Promise<GatewayServer> {
  const { log, shared = false, findCaller, domains } = options
  const configuration = withAuthorizer(options.configuration, options.authorizer)
  let current = configuration
  let requested = configuration
  let plan = planPlugins(configuration)
  let hasEncodedSlashes = acceptsEncodedSlashes(configuration)
  const { settings } = configuration
  const { fileLimit = readFileLimit() } = options
  if (settings.maxBufferedBytes !== 'auto') bodyMemory.maxBytes = settings.maxBufferedBytes
  if (settings.maxUnreadBytes !== 'auto') replyMemory.maxBytes = settings.maxUnreadBytes
  const maxConnections = capConnections(settings.maxConnections, fileLimit, log)
  const drained = new DrainedNodes()
  drained.replace(options.drained ?? [])
  const upstreams = createUpstreams(configuration, {
    drained,
    shareCheck: options.shareCheck,
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
  const caches = createResponseCaches()
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
      metrics: options.metrics,
      caches,
      services,
      log,
    },
    closing,
  )
  const { routing, registry, limits, problem, buildChain } = deciding
  replace = deciding.replace
  const processNodes = createProcessNodes({
    drained,
    directories: routing.directories,
    namespace: () => current.settings.namespace,
  })
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
  const clientCa = options.clientCa ?? openClientCaOf(settings, log, closing)
  const others = await openAdditionalListeners(configuration, tls, log, closing)
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
          { listener: 'uws', hint: UNREADABLE_HINT },
          'connection closed without a readable request',
        ),
      encodedSlashes: () => hasEncodedSlashes,
      handle: gateway.handle,
    },
    log,
    { name: assignRoles(configuration.config.listen)?.main.name ?? '', others },
  )
  closing.add(() => listener.close())
  const release = tls?.onChange(({ length }) =>
    log.info(
      settings.enableAcme ? { certificates: length } : { files: settings.tlsCertFiles },
      'certificates reloaded',
    ),
  )
  closing.add(() => release?.())

  const reload = async (reloaded: Configuration): Promise<void> => {
    const next = withAuthorizer(reloaded, options.authorizer)
    const { configuration: merged, restart } = keepFixed(current, next, requested)
    const { settings } = merged
    // Everything that may fail comes first, because a rejected configuration must not change
    // anything.
    const nextPlan = planPlugins(merged)
    const routes = compileRoutes(merged)
    const chain = await buildChain(merged, nextPlan)
    const services = await dns.use(listDnsServices(merged))
    const before = current
    current = merged
    requested = next
    plan = nextPlan
    hasEncodedSlashes = acceptsEncodedSlashes(merged)
    upstreams.use(merged)
    log.level = settings.logLevel
    deciding.replace(services)
    deciding.replaceRoutes(routes)
    // Services removed from the configuration were removed deliberately, so their nodes are not
    // retained.
    routing.reconfigure([...listNames(before), ...listNames(merged)])
    gateway.use(chain)
    reloadTls(tls, log)
    reloadTls(clientCa, log)
    for (const other of others) {
      reloadTls(other.tls, log)
      reloadTls(other.clientCa, log)
    }
    // If there are several processes, the primary reports the reload.
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
    const remainingMs = hasSuccessor ? Math.max(0, endMs - performance.now()) : drainTimeoutMs
    if (!(await settlesWithin(gateway.idle(), remainingMs))) {
      const requests = gateway.inFlight
      log.warn({ requests }, 'drain_timeout exceeded; closing connections with requests in flight')
    }
    await closing.close()
  }

  return {
    listener: listener.name,
    port: listener.port,
    http2Port: listener.http2Port,
    otherPorts: listener.otherPorts,
    get inFlight() {
      return gateway.inFlight
    },
    get services() {
      return listNames(current)
    },
    get plugins() {
      return plan.map(({ specifier }) => specifier)
    },
    get active() {
      return { configuration: current, plan, chain: gateway.chain, registry }
    },
    measured: {
      metrics: options.metrics,
      inFlight: () => gateway.inFlight,
      connections: () => listener.connections,
      directories: routing.directories,
      caches: routing.caches,
      certificates: () =>
        [...new Set([tls, ...others.map((each) => each.tls)])].flatMap((each) => each?.pairs ?? []),
      broker: options.broker,
      limits,
    },
    processNodes,
    caches,
    nodes: createNodeControl(
      {
        read: async (request) => [await processNodes.read(request)],
        setDrained: processNodes.setDrained,
      },
      log,
    ),
    async problems() {
      const listMissing = [await problem(), remote?.problem()]
      return listMissing.filter((line) => line !== undefined)
    },
    reload: (next) => next.config.references.hidden.guard(() => reload(next)),
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

function openClientCaOf(settings: Settings, log: Log, closing: Disposer): ClientCa | undefined {
  const clientCa = openClientCa(settings, log)
  closing.add(() => clientCa?.close())
  return clientCa
}

/** Returns the configuration of a gateway with the authorizer of its process. */
function withAuthorizer(
  configuration: Configuration,
  authorizer: Authorizer | undefined,
): Configuration {
  if (authorizer === undefined) return configuration
  return { ...configuration, settings: { ...configuration.settings, auth: 'own' } }
}

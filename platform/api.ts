import { inspect } from 'node:util'
import { createMemoryBroker } from '../adapters/broker/memory.ts'
import { createAddressSet } from '../core/address-set.ts'
import { createBroker } from '../core/broker/broker.ts'
import { type Chain, compileChain, type ReportFault, type Stage } from '../core/chain.ts'
import type { Outage, OutageState } from '../core/directory/outages.ts'
import { Directory } from '../core/directory.ts'
import type { Exchange } from '../core/exchange.ts'
import { Gateway } from '../core/gateway.ts'
import type { CreateListener, Listener } from '../core/listener/listener.ts'
import { createNodeListener } from '../core/listener/node.ts'
import { loadTls, type TlsSource } from '../core/listener/tls.ts'
import { createUwsListener, loadUws } from '../core/listener/uws.ts'
import { createRouter } from '../core/router.ts'
import type { Timeouts } from '../core/upstream/http1.ts'
import { parseBalance } from '../core/upstream/parse-balance.ts'
import { Pool } from '../core/upstream/pool.ts'
import type { PoolAddress, UpstreamOptions } from '../core/upstream/upstream.ts'
import { type Configuration, keepFixed } from './configuration.ts'
import { budgetBackends, capConnections, readFileLimit } from './file-limit.ts'
import { createForwarding } from './handlers.ts'
import type { Log } from './log.ts'
import { logOutage } from './log-outage.ts'
import { createOutsideCheck } from './outside-namespace.ts'
import { findResolver } from './parts.ts'
import { type PlannedPlugin, planPlugins } from './plan-plugins.ts'
import { buildPlugins } from './plugin-list.ts'
import { claimPort } from './port.ts'
import { createConfiguredRegistry } from './registries.ts'
import { reportReload } from './report-reload.ts'
import { listBalances, listNames, listServices } from './services.ts'
import type { Settings } from './settings.ts'
import { readVersion } from './version.ts'

export interface ApiOptions {
  readonly configuration: Configuration
  readonly log: Log
  /** Whether other processes of this gateway listen on the same port. @default false */
  readonly shared?: boolean
  /** How services of this process are called without sockets. @default all are called at their ports */
  readonly findCaller?: UpstreamOptions['findCaller']
}

/** A running gateway. */
export interface Api {
  readonly listener: Listener['name']
  /** The real port where 0 was asked for. */
  readonly port: number
  /** Requests not finished yet. */
  readonly inFlight: number
  /** Full names of the services the configuration lists. */
  readonly services: readonly string[]
  /** Names of the plugins, in chain order. */
  readonly plugins: readonly string[]
  /**
   * Serves new requests by another configuration, and reads the certificates again. Running requests
   * finish by the old one. Settings that need a restart stay as they are, which the log tells.
   *
   * @throws {SettingsError} and changes nothing, when a plugin cannot be built.
   */
  readonly reload: (next: Configuration) => Promise<void>
  /** Takes no more connections, finishes running requests up to `drain_timeout`, then {@link close}. */
  readonly drain: () => Promise<void>
  /** Ends everything at once: WebSockets with 1012, requests by closing their connections. */
  readonly close: () => Promise<void>
}

/** How long an unused connection to a backend is kept, unless it names less: shorter than servers' own usual 5 s, so that it is not they who close first. */
const KEEP_ALIVE_MS = 4_000
/** Requests that may wait for a connection to one node, once it has as many as it may. */
const MAX_WAITING = 1024

/**
 * Starts a gateway: plugins, registry, certificates, then the port.
 *
 * @throws {SettingsError} for what the configuration asks for and cannot be had, {@link Error} with one line
 *   for anything else; nothing is left open then.
 */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { configuration, log, shared = false, findCaller } = options
  let current = configuration
  let asked = configuration.settings
  let plan = planPlugins(configuration)
  const { settings } = configuration
  const createResolver = findResolver(settings)
  const fileLimit = readFileLimit()
  const maxConnections = capConnections(settings.maxConnections, fileLimit, log)
  const maxBackendConnections = budgetBackends(maxConnections, fileLimit)
  const budget = { left: maxBackendConnections }
  const services = listServices(configuration)
  const { registry, loaded, replace } = createConfiguredRegistry(settings.registry, services)
  try {
    await loaded
  } catch (error) {
    await registry.close?.()
    throw error
  }
  let balances = listBalances(configuration)
  const timeouts = toTimeouts(settings)

  const createPool = ({ host, port, secure, pipeline }: PoolAddress): Pool => {
    return new Pool({
      host,
      port,
      secure,
      pipeline,
      timeouts,
      keepAliveMs: KEEP_ALIVE_MS,
      maxConnections: maxBackendConnections,
      budget,
      maxWaiting: MAX_WAITING,
    })
  }
  const upstream = (service: string): UpstreamOptions => ({
    balance: parseBalance(balances.get(service) ?? current.settings.balance),
    createPool,
    ...(findCaller && { findCaller }),
    onSkip: (node, reason) => log.warn({ service, node: node.id }, `node left out: ${reason}`),
    onEject: (node, forMs) =>
      log.warn({ service, node: node.id, forMs }, 'node ejected after failures'),
    onReturn: (node) => log.info({ service, node: node.id }, 'node is back'),
  })
  const onError = (service: string, error: unknown): void =>
    log.warn({ service, err: error }, 'registry failed')
  const onOutage = (state: OutageState, outage: Outage): void =>
    logOutage(log, state, outage, directory.size)
  const directory: Directory = new Directory(registry, { upstream, onError, onOutage })
  const onWarning = (message: string): void => log.warn(message)
  const onServices = createOutsideCheck({
    settings: () => current.settings,
    configured: () => listNames(current),
    onWarning,
  })
  const resolver = createResolver({ registry, onWarning, onServices })
  const broker = createBroker(createMemoryBroker(), {
    onDrop: (subscription, count) =>
      log.warn({ ...subscription, count }, 'a subscriber is too slow: messages dropped'),
    onError: (subscription, error) =>
      log.error({ ...subscription, err: error }, 'a subscriber failed'),
  })
  const route = createRouter({
    resolver,
    directory,
    namespace: settings.namespace,
    version: readVersion(),
  })

  const buildChain = async (
    next: Configuration,
    planned: readonly PlannedPlugin[],
  ): Promise<Chain> => {
    const plugins = await buildPlugins(planned, {
      log,
      nowMs: Date.now,
      configDir: next.config.folder,
    })
    const callAddresses = createAddressSet(next.settings.rpcAddressAllow, 'rpc_address_allow')
    const context = { broker, directory, upstream, callAddresses }
    const forwarding = createForwarding(next.settings, context, route)
    const chain = compileChain(plugins, forwarding.route, forwarding.handle)
    const close = async (onFault: ReportFault): Promise<void> => {
      await chain.close(onFault)
      await forwarding.close()
    }
    return { ...chain, close }
  }

  const onFault = (error: unknown, x: Exchange | undefined, stage: Stage | undefined): void => {
    const thrown = error instanceof Error ? { err: error } : { thrown: inspect(error) }
    const request = x && { id: x.id, method: x.method, path: x.path, service: x.route?.service }
    log.error({ ...thrown, ...stage, ...request }, describeFault(x, stage))
  }
  let gateway: Gateway | undefined
  let tls: TlsSource | undefined
  let listener: Listener
  try {
    gateway = new Gateway({
      chain: await buildChain(configuration, plan),
      onFault,
      parkTimeoutMs: () => current.settings.replyTimeoutMs,
    })
    tls = openTls(settings, log)
    await resolver.ready
    const { host, port } = settings.address
    // Last: what was wrongly asked for is told before what is only in the way.
    if (!shared && port !== 0) await claimPort(settings.address)
    const createListener = chooseListener(settings, log)
    listener = await createListener({
      host,
      port,
      shared,
      tls,
      maxConnections,
      maxMessageBytes: settings.maxMessageBytes,
      handle: gateway.handle,
    })
  } catch (error) {
    tls?.close()
    await gateway?.close()
    resolver.close?.()
    directory.close()
    await broker.close?.()
    await registry.close?.()
    throw error
  }
  const serving = gateway
  tls?.onChange(() => log.info({ files: settings.tlsCertFiles }, 'new certificates are in use'))

  const reload = async (next: Configuration): Promise<void> => {
    const { settings, restart } = keepFixed(current.settings, next.settings, asked)
    const merged = { ...next, settings }
    // Whatever can be wrong comes first: a refused configuration has changed nothing.
    const nextPlan = planPlugins(merged)
    const services = listServices(merged)
    const nextBalances = listBalances(merged)
    const chain = await buildChain(merged, nextPlan)
    const before = current
    current = merged
    Object.assign(timeouts, toTimeouts(settings))
    asked = next.settings
    plan = nextPlan
    balances = nextBalances
    log.level = settings.logLevel
    replace(services)
    // Whoever takes a service out of the configuration knows that it is gone.
    directory.settle([...listNames(before), ...listNames(merged)])
    directory.reconfigure()
    serving.use(chain)
    reloadTls(tls, log)
    // Of several processes, the primary reports.
    if (!shared) reportReload(before, merged, restart, log)
  }

  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= (async () => {
      await listener.close()
      resolver.close?.()
      directory.close()
      await serving.close()
      await broker.close?.()
      tls?.close()
      await registry.close?.()
    })()
    return closing
  }
  const drain = async (): Promise<void> => {
    listener.drain()
    listener.closeTunnels()
    await orAfter(serving.idle(), current.settings.drainTimeoutMs)
    if (serving.inFlight > 0)
      log.warn({ requests: serving.inFlight }, 'drain_timeout is over; cutting off what still runs')
    await close()
  }

  return {
    listener: listener.name,
    port: listener.port,
    get inFlight() {
      return serving.inFlight
    },
    get services() {
      return listNames(current)
    },
    get plugins() {
      return plan.map(({ specifier }) => specifier)
    },
    reload,
    drain,
    close,
  }
}

function toTimeouts({ connectTimeoutMs, replyTimeoutMs, idleTimeoutMs }: Settings): Timeouts {
  return { connectMs: connectTimeoutMs, replyMs: replyTimeoutMs, idleMs: idleTimeoutMs }
}

/** What a fault meant for its request. */
function describeFault(x: Exchange | undefined, stage: Stage | undefined): string {
  switch (stage?.hook) {
    case 'close':
      return 'a plugin failed to close'
    case 'onDone':
      return 'a hook failed after the reply'
    case 'onReply':
      return 'a stage failed; answered 500'
    default:
      return x?.answered ? 'a stage failed after the reply began' : 'a stage failed; answered 500'
  }
}

function chooseListener({ listener }: Settings, log: Log): CreateListener {
  if (listener === 'node') return createNodeListener
  if (loadUws() !== undefined) return createUwsListener
  log.warn(
    `no uWebSockets binary for ${process.platform} ${process.arch} and Node ${process.versions.node}: using --listener=node`,
  )
  return createNodeListener
}

function openTls(
  { enableTls, tlsCertFiles, tlsKeyFiles }: Settings,
  log: Log,
): TlsSource | undefined {
  if (!enableTls) return undefined
  const files = tlsCertFiles.map((certFile, i) => ({ certFile, keyFile: tlsKeyFiles[i]! }))
  const tls = loadTls(files, { warn: (message) => log.warn(message) })
  tls.watch()
  return tls
}

/** Reads the certificates again; one that is wrong is told as by {@link TlsSource.watch}. */
function reloadTls(tls: TlsSource | undefined, log: Log): void {
  try {
    tls?.reload()
  } catch (error) {
    log.warn(`${(error as Error).message}; the previous certificates stay in use`)
  }
}

/** Resolves with `work`, or after `timeoutMs`. */
async function orAfter(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}

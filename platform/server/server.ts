import { join } from 'node:path'
import { createDeferredAuthorizer } from '../../core/auth/open-authorizer.ts'
import type { Plugin } from '../../core/chain.ts'
import { createEgressPolicy } from '../../core/egress/egress-policy.ts'
import type { TlsSource } from '../../core/listener/tls/tls.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createNetwork } from '../../domain/mesh/network.ts'
import { createDisposer, type Disposer } from '../../lib/async/disposer.ts'
import { findLocalCaller } from '../../sdk/internal/local-services.ts'
import { listOthers } from '../config/listen/main-listener.ts'
import type { Configuration } from '../config/types.ts'
import { openServerVersions } from '../config/versions/open-server-versions.ts'
import { createStoreStorage } from '../config/versions/storage.ts'
import type { ConfigVersionsOptions, ReloadableVersions } from '../config/versions/versions.ts'
import { startDashboard } from '../dashboard/dashboard.ts'
import { createExpectedServices } from '../gateway/expected-services.ts'
import { startGatewayServer } from '../gateway/gateway-server.ts'
import { createGatewaySource } from '../gateway/gateway-view.ts'
import type { EventSinks } from '../gateway/handlers.ts'
import { chooseListener } from '../gateway/listeners/choose-listener.ts'
import type { GatewayServer } from '../gateway/types.ts'
import { buildPlugins } from '../plugins/build.ts'
import { planDashboardPlugins } from '../plugins/plan.ts'
import { claimPorts } from '../process/claim-ports.ts'
import { readFileLimit } from '../process/file-limit.ts'
import type { Log } from '../process/log.ts'
import { openServerProxy } from '../rpc-proxy/server-proxy.ts'
import type { Address } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'
import { openTls } from '../tls/open.ts'
import { type AdminPassword, checkAdminPassword } from './bootstrap-accounts.ts'
import type { BuiltIn, BuiltInContext, CreatedParts } from './built-in/built-in.ts'
import { compressBuiltIns } from './built-in/compress.ts'
import { listBuiltIns } from './built-in/services.ts'
import { type DataFolder, openDataFolder } from './files/data-folder.ts'
import { toHomeFolder } from './files/home-folder.ts'
import { openServerBroker } from './open/broker.ts'
import { withNamespaces } from './open/namespaced-broker.ts'
import { createServerId, readServerId } from './server-id.ts'
import { openServerRegistries } from './server-registries.ts'
import { createBuiltInLog } from './service-log.ts'

export interface ServerOptions {
  readonly configuration: Configuration
  readonly log: Log
  /** Aborts the startup. The server then closes everything and throws the reason of the signal. */
  readonly signal?: AbortSignal
  /** Returns other listeners of the process, such as the admin server. @default none */
  readonly listeners?: () => readonly Address[]
  /**
   * Loads the configuration for its versions.
   *
   * @default the configuration has no versions, and `Api.Apply` fails with 503
   */
  readonly versions?: Pick<ConfigVersionsOptions, 'load' | 'onSaved'>
  /**
   * Whether the caller can show a random admin password to a person. Otherwise, a password is only
   * created if there is a data folder.
   *
   * @default true
   */
  readonly canShowPassword?: boolean
}

/** A running server: gateway, RPC proxy, dashboard and the built-in services. */
export interface Server {
  /** Address of the gateway. All addresses contain actual ports. */
  readonly address: Address
  readonly proxyAddress: Address
  readonly webAddress: Address
  readonly http2Address: Address | undefined
  /** Advertised address of the RPC proxy as `host:port`. */
  readonly advertised: string
  /** Data folder; undefined if files are not used. */
  readonly folder: string | undefined
  /** Password generated during this startup; undefined if none was generated. */
  readonly adminPassword: AdminPassword | undefined
  /** Names of the built-in services. */
  readonly services: readonly string[]
  /** The gateway, for metrics and readiness. */
  readonly api: Omit<GatewayServer, 'reload' | 'drain' | 'close'>
  /** Undefined if {@link ServerOptions.versions} is not set. */
  readonly versions: ReloadableVersions | undefined
  /** See {@link GatewayServer}. */
  readonly reload: GatewayServer['reload']
  /** Finishes requests, then calls, within `drain_timeout` each, then calls {@link close}. */
  readonly drain: () => Promise<void>
  /** Closes everything in reverse startup order. */
  readonly close: () => Promise<void>
}

/**
 * Starts `mx server`: storage, RPC proxy, built-in services, gateway, dashboard.
 *
 * @throws {SettingsError} for invalid settings.
 * @throws {Error} with a one-line message for other failures. Everything is closed in both cases.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const closing = createDisposer()
  try {
    return await open(options, closing)
  } catch (error) {
    await closing.close()
    throw error
  }
}

async function open(options: ServerOptions, closing: Disposer): Promise<Server> {
  const { configuration, log, signal, listeners = () => [], canShowPassword = true } = options
  const { settings } = configuration
  let { drainTimeoutMs } = settings
  const onWarning = (message: string): void => log.warn(message)
  checkAdminPassword(settings)
  // Ports in use are reported before anything is changed.
  await claimPorts(settings, isFolderNeeded(settings) ? settings.dataDir : undefined)
  const fileLimit = readFileLimit()
  const folder = isFolderNeeded(settings) ? await openDataFolder(settings.dataDir) : undefined
  closing.add(() => folder?.close())

  let advertised: string | undefined
  const isLocal = (address: string): boolean => address === advertised
  const registries = await openServerRegistries(settings.registry, { isLocal, onWarning })
  closing.add(registries.close)
  await registries.check()
  const broker = await openServerBroker(settings.broker, log)
  closing.add(() => broker.close?.())

  const network = createNetwork({
    id: await findServerId(settings, folder),
    registry: registries.registry,
    onError: (error) => log.warn({ err: error }, 'cannot publish this server to the network'),
    onTooLong: (service) => log.warn({ service }, 'service description too long for other servers'),
  })
  closing.add(network.close)
  const expected = createExpectedServices()
  const registry = expected.join(network.registry)
  const domains = expected.joinDomains(registries)

  const { authorizer, setSource } = createDeferredAuthorizer(log)
  closing.add(authorizer.close)
  const proxy = await openServerProxy({
    configuration,
    registry,
    domains,
    authorizer,
    // The gateway uses half of the open files.
    fileLimit: Math.floor(fileLimit / 4),
    log,
  })
  closing.add(proxy.close)
  const { host } = proxy
  advertised = host.address
  const created: CreatedParts = {}
  // Addresses from the settings. Addresses with actual ports are added once they are open.
  const listening: (Address | undefined)[] = [
    settings.address,
    settings.http2Address,
    settings.webAddress,
    settings.adminAddress,
    proxy.address,
    ...listOthers(configuration.config.listen).map(({ address }) => address),
  ]
  const egress = createEgressPolicy({
    ...settings,
    listeners: () => [...listening, ...listeners()].filter((each) => each !== undefined),
  })
  const source = createGatewaySource({ registry, domains, authorizer })
  const services = await startServices(
    {
      settings,
      toFolder: (part) => join(folder?.path ?? '', part),
      hasFolder: folder !== undefined,
      ownFolder: toHomeFolder(folder?.path),
      canShowPassword,
      registries,
      broker,
      network,
      expected,
      gateway: source,
      host,
      authorizer,
      egress,
      toLog: (service) => createBuiltInLog(service, log),
      onWarning,
      created,
    },
    closing,
    signal,
  )
  setSource(created.auth!.source)
  proxy.begin()
  for (const { begin } of services) await begin?.()

  const tls = await openServerTls(settings, log, created, folder)
  closing.add(() => tls?.close())
  const builtIns = listBuiltIns(settings).map(({ name }) => name)
  const api = await startGatewayServer({
    configuration: compressBuiltIns(configuration, builtIns),
    log,
    registry,
    domains,
    events: toSinks(settings, broker, created),
    authorizer,
    egress,
    tls,
    findCaller: findLocalCaller,
    fileLimit: Math.floor(fileLimit / 2),
    metrics: source.metrics,
    broker,
  })
  closing.add(api.close)
  let versions: ReloadableVersions | undefined
  source.use(api, () => versions)
  const dashboard = await startDashboard({
    address: settings.webAddress,
    createListener: chooseListener(settings, log),
    tls,
    callBridge: proxy.dispatch,
    idleTimeoutMs: settings.webSessionIdleTimeoutMs,
    maxAgeMs: settings.webSessionMaxAgeMs,
    guards: await buildGuards(configuration, log),
    log,
  })
  closing.add(dashboard.close)
  signal?.throwIfAborted()
  const address = { ...settings.address, port: api.port }
  const webAddress = { ...settings.webAddress, port: dashboard.port }
  const http2Address =
    api.http2Port === undefined ? undefined : { ...settings.http2Address!, port: api.http2Port }
  listening.push(address, webAddress, ...(http2Address === undefined ? [] : [http2Address]))
  const reload = async (next: Configuration): Promise<void> => {
    await api.reload(compressBuiltIns(next, builtIns))
    dashboard.use(await buildGuards(next, log))
    proxy.use(next)
    egress.use(next.settings)
    ;({ drainTimeoutMs } = next.settings)
  }
  versions =
    options.versions &&
    (await openServerVersions({
      ...options.versions,
      ...{ initial: configuration, reload, log },
      storage: createStoreStorage(created.store!.store, network.id, created.secretKey),
    }))

  return {
    address,
    proxyAddress: proxy.address,
    webAddress,
    http2Address,
    advertised: host.address,
    folder: folder?.path,
    adminPassword: created.adminPassword,
    services: builtIns,
    api,
    versions,
    reload,
    async drain() {
      // Watch streams would never end and would block the drain of the gateway.
      const ending = services.map(async ({ endStreams }) => endStreams())
      // Errors must not prevent the close, which reports them.
      await Promise.allSettled([api.drain(), dashboard.drain(drainTimeoutMs), ...ending])
      await Promise.allSettled(services.map(async ({ end }) => end?.()))
      const stopping = services.map(({ service }) => service.stop({ timeoutMs: drainTimeoutMs }))
      await Promise.allSettled([proxy.drain(), ...stopping])
      await closing.close()
    },
    close: closing.close,
  }
}

/**
 * Creates and starts the built-in services in order. They are stopped simultaneously, then closed
 * in reverse order.
 */
async function startServices(
  context: BuiltInContext,
  closing: Disposer,
  signal: AbortSignal | undefined,
): Promise<readonly BuiltIn[]> {
  const started: BuiltIn[] = []
  const closingEach = createDisposer()
  closing.add(async () => {
    await Promise.allSettled(started.map(async ({ end }) => end?.()))
    await Promise.allSettled(started.map(stopService))
    await closingEach.close()
  })
  for (const { create } of listBuiltIns(context.settings)) {
    signal?.throwIfAborted()
    const builtIn = await create(context)
    closingEach.add(builtIn.close)
    started.push(builtIn)
    await builtIn.service.start()
  }
  for (const { ready } of started) await ready
  signal?.throwIfAborted()
  return started
}

async function stopService({ endStreams, service }: BuiltIn): Promise<void> {
  await endStreams()
  await service.stop()
}

/**
 * Opens the certificates of the gateway and the dashboard. ACME uses the store and secret key of
 * the services.
 */
async function openServerTls(
  settings: Settings,
  log: Log,
  { store, secretKey }: CreatedParts,
  folder: DataFolder | undefined,
): Promise<TlsSource | undefined> {
  if (!settings.enableAcme) return openTls(settings, log, { folder: toHomeFolder(folder?.path) })
  const { readSecretKeys } = await import('../acme/secret-keys.ts')
  const secretKeys = readSecretKeys(settings, secretKey)
  const acme = { store: store!.store, secretKeys }
  return openTls(settings, log, { acme, folder: undefined })
}

function buildGuards(configuration: Configuration, log: Log): Promise<readonly Plugin[]> {
  return buildPlugins(planDashboardPlugins(configuration), { log, nowMs: Date.now })
}

async function findServerId(
  { serverId }: Settings,
  folder: DataFolder | undefined,
): Promise<string> {
  if (serverId !== '') return serverId
  return folder === undefined ? createServerId() : await readServerId(folder.path)
}

function isFolderNeeded({ store, events, configSecretKey, runtime }: Settings): boolean {
  // Running processes are recovered after a restart if the store still has their records.
  const runs = runtime === 'process' && store !== 'memory'
  return runs || store === 'lmdb' || events === 'lmdb' || configSecretKey === 'file'
}

function toSinks(
  { eventSink }: Settings,
  broker: CheckedBroker,
  { events }: CreatedParts,
): EventSinks {
  const stream = events!.events
  if (eventSink === 'events') return { stream }
  return eventSink === 'both'
    ? { broker: withNamespaces(broker), stream }
    : { broker: withNamespaces(broker) }
}

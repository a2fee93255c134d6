import { join } from 'node:path'
import { openGate } from '../../core/auth/open-authorizer.ts'
import type { Plugin } from '../../core/chain.ts'
import { createEgressPolicy } from '../../core/egress/egress-policy.ts'
import type { TlsSource } from '../../core/listener/tls/tls.ts'
import type { CheckedBroker } from '../../domain/broker/broker.ts'
import { createNetwork } from '../../domain/mesh/network.ts'
import { createDisposer, type Disposer } from '../../lib/async/disposer.ts'
import { findLocalCaller } from '../../sdk/internal/local-services.ts'
import type { Configuration } from '../config/types.ts'
import { startDashboard } from '../dashboard/dashboard.ts'
import { chooseListener } from '../gateway/choose-listener.ts'
import { createExpectedServices } from '../gateway/expected-services.ts'
import { type GatewayServer, startGatewayServer } from '../gateway/gateway-server.ts'
import { createGatewaySource } from '../gateway/gateway-view.ts'
import type { EventSinks } from '../gateway/handlers.ts'
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
import { type BuiltIn, type BuiltInContext, listBuiltIns, type Made } from './built-in-services.ts'
import { type DataFolder, openDataFolder } from './files/data-folder.ts'
import { toHomeFolder } from './files/home-folder.ts'
import { openBroker } from './open/broker.ts'
import { withNamespaces } from './open/namespaced-broker.ts'
import { makeServerId, readServerId } from './server-id.ts'
import { openServerRegistries } from './server-registries.ts'
import { createBuiltInLog } from './service-log.ts'

export interface ServerOptions {
  readonly configuration: Configuration
  readonly log: Log
  /** Gives the start up: it closes what is open by then, and throws the signal's reason. @default it goes on */
  readonly signal?: AbortSignal
  /** Where its process listens besides: its admin address. @default nowhere */
  readonly listeners?: () => readonly Address[]
  /** Whether the caller shows a random admin password to a person. Otherwise one is made only where a file can hold it. @default true */
  readonly canShowPassword?: boolean
}

/** A running server: gateway, RPC proxy, dashboard and the built-in services. */
export interface Server {
  /** Of the gateway; real ports where 0 was asked for. */
  readonly address: Address
  readonly proxyAddress: Address
  readonly webAddress: Address
  /** Where the gateway serves HTTP/2 besides; undefined: nowhere. */
  readonly http2Address: Address | undefined
  /** Where others reach the RPC proxy, `host:port`. */
  readonly advertised: string
  /** Where files lie; undefined: nothing is kept in files. */
  readonly folder: string | undefined
  /** Made up at this start; undefined: it was not. */
  readonly adminPassword: AdminPassword | undefined
  /** Names of the built-in services. */
  readonly services: readonly string[]
  /** The gateway, for whoever tells of it. */
  readonly api: Omit<GatewayServer, 'reload' | 'drain' | 'close'>
  /** As of {@link GatewayServer}. */
  readonly reload: GatewayServer['reload']
  /** Finishes what is running, requests first, then calls, up to `drain_timeout` each, then {@link close}. */
  readonly drain: () => Promise<void>
  /** Ends everything, in the reverse order of the start. */
  readonly close: () => Promise<void>
}

/**
 * Starts `mx server`: what it stands on, the RPC proxy, the built-in services, the gateway, the dashboard.
 *
 * @throws {SettingsError} for what the configuration asks for and cannot be had, {@link Error} with one line for anything else;
 * nothing is left open then.
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
  // First: what is only in the way is told before anything is touched.
  await claimPorts(settings, isFolderNeeded(settings) ? settings.dataDir : undefined)
  const fileLimit = readFileLimit()
  const folder = isFolderNeeded(settings) ? await openDataFolder(settings.dataDir) : undefined
  closing.add(() => folder?.close())

  let advertised: string | undefined
  const isOwn = (address: string): boolean => address === advertised
  const registries = await openServerRegistries(settings.registry, { isOwn, onWarning })
  closing.add(registries.close)
  await registries.check()
  const broker = await openBroker(settings.broker, log)
  closing.add(() => broker.close?.())

  const network = createNetwork({
    id: await findServerId(settings, folder),
    registry: registries.registry,
    onError: (error) => log.warn({ err: error }, 'the network is told nothing new of this server'),
    onTooLong: (service) => log.warn({ service }, 'its description is too long for other servers'),
  })
  closing.add(network.close)
  const expected = createExpectedServices()
  const registry = expected.join(network.registry)
  const domains = expected.joinDomains(registries)

  const { gate, ask } = openGate(log)
  closing.add(gate.close)
  const proxy = await openServerProxy({
    configuration,
    registry,
    domains,
    gate,
    // Of the open files the gateway has half.
    fileLimit: Math.floor(fileLimit / 4),
    log,
  })
  closing.add(proxy.close)
  const { host } = proxy
  advertised = host.address
  const made: Made = {}
  // As the settings name them, until they are open at real ports.
  const own: (Address | undefined)[] = [
    settings.address,
    settings.http2Address,
    settings.webAddress,
    settings.adminAddress,
    proxy.address,
  ]
  const egress = createEgressPolicy({
    ...settings,
    listeners: () => [...own, ...listeners()].filter((each) => each !== undefined),
  })
  const told = createGatewaySource({ registry, domains, gate })
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
      gateway: told,
      host,
      gate,
      egress,
      toLog: (service) => createBuiltInLog(service, log),
      onWarning,
      made,
    },
    closing,
    signal,
  )
  ask(made.auth!.source)
  proxy.begin()
  for (const { begin } of services) await begin?.()

  const tls = await openServerTls(settings, log, made, folder)
  closing.add(() => tls?.close())
  const api = await startGatewayServer({
    configuration,
    log,
    registry,
    domains,
    events: toSinks(settings, broker, made),
    gate,
    egress,
    tls,
    findCaller: findLocalCaller,
    fileLimit: Math.floor(fileLimit / 2),
    metrics: told.metrics,
    broker,
  })
  closing.add(api.close)
  told.use(api)
  const dashboard = await startDashboard({
    address: settings.webAddress,
    createListener: chooseListener(settings, log),
    tls,
    carry: proxy.dispatch,
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
  own.push(address, webAddress, ...(http2Address === undefined ? [] : [http2Address]))

  return {
    address,
    proxyAddress: proxy.address,
    webAddress,
    http2Address,
    advertised: host.address,
    folder: folder?.path,
    adminPassword: made.adminPassword,
    services: listBuiltIns(settings).map(({ name }) => name),
    api,
    async reload(next) {
      await api.reload(next)
      dashboard.use(await buildGuards(next, log))
      proxy.use(next)
      egress.use(next.settings)
      ;({ drainTimeoutMs } = next.settings)
    },
    async drain() {
      // Whoever watches would keep the gateway from ever being done.
      const ending = services.map(async ({ endStreams }) => endStreams())
      // What fails keeps nothing from being closed, which tells of it.
      await Promise.allSettled([api.drain(), dashboard.drain(drainTimeoutMs), ...ending])
      await Promise.allSettled(services.map(async ({ end }) => end?.()))
      const stopping = services.map(({ service }) => service.stop({ timeoutMs: drainTimeoutMs }))
      await Promise.allSettled([proxy.drain(), ...stopping])
      await closing.close()
    },
    close: closing.close,
  }
}

/** Makes and starts the built-in services, one after the other. They are stopped together, then closed in order. */
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

/** Of the gateway and the dashboard. What is kept is in the store of the services, encrypted as their secrets are. */
async function openServerTls(
  settings: Settings,
  log: Log,
  { store, secretKey }: Made,
  folder: DataFolder | undefined,
): Promise<TlsSource | undefined> {
  if (!settings.enableAcme) return openTls(settings, log, { folder: toHomeFolder(folder?.path) })
  const { readSecretKeys } = await import('../acme/secret-keys.ts')
  const secretKeys = readSecretKeys(settings, secretKey)
  const kept = { store: store!.store, secretKeys }
  return openTls(settings, log, { kept, folder: undefined })
}

function buildGuards(configuration: Configuration, log: Log): Promise<readonly Plugin[]> {
  return buildPlugins(planDashboardPlugins(configuration), { log, nowMs: Date.now })
}

async function findServerId(
  { serverId }: Settings,
  folder: DataFolder | undefined,
): Promise<string> {
  if (serverId !== '') return serverId
  return folder === undefined ? makeServerId() : await readServerId(folder.path)
}

function isFolderNeeded({ store, events, configSecretKey, runtime }: Settings): boolean {
  // What runs is to be found again after a restart, unless it is forgotten what it was.
  const runs = runtime === 'process' && store !== 'memory'
  return runs || store === 'lmdb' || events === 'lmdb' || configSecretKey === 'file'
}

function toSinks({ eventSink }: Settings, broker: CheckedBroker, { events }: Made): EventSinks {
  const stream = events!.events
  if (eventSink === 'events') return { stream }
  return eventSink === 'both'
    ? { broker: withNamespaces(broker), stream }
    : { broker: withNamespaces(broker) }
}

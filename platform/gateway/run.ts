import cluster, { type Worker } from 'node:cluster'
import { availableParallelism } from 'node:os'
import { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import type { NodeStatus } from '../../core/upstream/health/node-status.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import type { NodesRequest } from '../../services/gateway/node-control.ts'
import { readAll } from '../admin/metrics/read-all.ts'
import { createWorkerMetrics } from '../admin/metrics/worker-metrics.ts'
import { createProcessAdmin } from '../admin/process-admin.ts'
import { createWorkerReadiness } from '../admin/worker-readiness.ts'
import { listServiceFiles } from '../config/configured-services.ts'
import { listOthers, setAddresses } from '../config/listen/main-listener.ts'
import { configurationFrom, keepFixed, type LoadConfiguration } from '../config/load.ts'
import { listFiles, type Reloading, reloadOnChange } from '../config/reload-on-change.ts'
import { createReloader, logRejection } from '../config/reloader.ts'
import { reportReload } from '../config/report-reload.ts'
import type { Configuration } from '../config/types.ts'
import { openApiVersions } from '../config/versions/open-api-versions.ts'
import { pluginFiles } from '../plugins/load.ts'
import { createLog, type Log } from '../process/log.ts'
import { claimPort } from '../process/port.ts'
import {
  endAfter,
  handleProcessSignals,
  logUncaughtExceptions,
  logWarnings,
} from '../process/signals.ts'
import { findMisspelt } from '../settings/env.ts'
import { parseFlags } from '../settings/flags.ts'
import { type Address, parseBindAddress, parseGatewayAddress } from '../settings/parse/address.ts'
import { HOME_FOLDER, openTls } from '../tls/open.ts'
import { serveIpc } from '../workers/ipc-rpc.ts'
import { publishLastGood, requestLastGood, storeLastGood } from '../workers/last-good-config.ts'
import { restartOnSigusr2 } from '../workers/on-sigusr2.ts'
import { receiveChecks, shareChecks } from '../workers/worker-checks.ts'
import { receiveDrains, shareDrains } from '../workers/worker-drains.ts'
import { handlePrimaryMessages } from '../workers/worker-ipc.ts'
import { receiveTls, shareTls } from '../workers/worker-tls.ts'
import {
  ADDRESS_VARIABLE,
  explainVersion,
  HTTP2_ADDRESS_VARIABLE,
  IN_PLACE_VARIABLE,
  readOtherAddresses,
  startWorkers,
  type Workers,
} from '../workers/workers.ts'
import { announce } from './banner.ts'
import { startGatewayServer } from './gateway-server.ts'
import { openClientCa } from './listeners/choose-listener.ts'
import { createNodeControl } from './nodes/node-control.ts'
import type { ApiParts } from './types.ts'

/**
 * Time that a shutdown waits for a startup in progress, whose dependencies may never become
 * available.
 */
const START_GRACE_MS = 2000

/**
 * Runs `mx api` in this process until a signal ends it. Returns the address once it is serving, or
 * undefined if a signal arrived earlier.
 *
 * @throws {SettingsError} for invalid settings.
 * @throws {Error} with a one-line message for other failures. Everything is closed in both cases.
 */
export async function runApi(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Address | undefined> {
  const { flags, problems } = parseFlags(words)
  const load = configurationFrom(flags, env, 'api', problems)
  const shared = env[ADDRESS_VARIABLE]
  if (cluster.isWorker && shared !== undefined)
    return runWorker(load, parseGatewayAddress(shared), env)
  const configuration = await load()
  const { settings } = configuration
  const log = openLog(configuration)
  for (const problem of findMisspelt(env)) log.warn(problem)
  const count = settings.workers === 'auto' ? availableParallelism() : settings.workers
  let port: number | undefined
  if (count > 1 || settings.hotRestart) port = await runPrimary(load, configuration, count, log)
  else port = await runAlone(load, configuration, log)
  return port === undefined ? undefined : { ...settings.address, port }
}

function openLog({ settings, config }: Configuration): Log {
  const log = createLog(settings.logLevel, config.references.hidden.hideInLog)
  logWarnings(log)
  return log
}

/** Returns the port, or undefined if a signal arrived before it was serving. */
async function runAlone(
  load: LoadConfiguration,
  configuration: Configuration,
  log: Log,
): Promise<number | undefined> {
  const stopper = new AbortController()
  const { signal } = stopper
  const admin = createProcessAdmin(configuration, log)
  const starting = admin.start(() =>
    startGatewayServer({ configuration, log, signal, ...createMetrics(admin.url) }),
  )
  let watched: Reloading | undefined
  const stop = async (): Promise<void> => {
    watched?.close()
    stopper.abort()
    const api = await withinGrace(starting)
    await api?.drain()
    await admin.close()
  }
  handleProcessSignals({ ...admin, stop, reload: () => watched?.reload() }, log)
  restartOnSigusr2(undefined, log)
  const api = await unlessAborted(starting, signal)
  if (api === undefined) return undefined
  const versions = await openApiVersions({
    ...{ initial: configuration, load, log, noFileReason: undefined },
    onSaved: (name, text) => watched?.accept(name, text),
    async install(next, save) {
      await api.reload(next)
      await save()
    },
  })
  admin.setSources({
    versions,
    nodes: api.nodes,
    purge: api.caches.purge,
    problems: api.problems,
    metrics: () => readAll(api.measured),
    drainDelayMs: () => api.active.configuration.settings.drainDelayMs,
  })
  const files = (): readonly string[] => [
    ...listFiles(api.active.configuration),
    ...listServiceFiles(api.active.configuration),
    ...pluginFiles(),
  ]
  watched = reloadOnChange(createReloader(versions.reload, log), files, log)
  logUncaughtExceptions(log)
  announce(configuration, { ...api, admin: admin.url }, 1, log)
  admin.warn()
  return api.port
}

async function runPrimary(
  load: LoadConfiguration,
  configuration: Configuration,
  count: number,
  log: Log,
): Promise<number | undefined> {
  let current = configuration
  let requested = configuration
  const { settings } = configuration
  const stopper = new AbortController()
  const { signal } = stopper
  const port = await claimPort(settings.address)
  const drainTimeoutMs = (): number => current.settings.drainTimeoutMs
  const address = { ...settings.address, port }
  const http2Address = settings.http2Address && {
    ...settings.http2Address,
    port: await claimPort(settings.http2Address, 'http2_address'),
  }
  const otherPorts = new Map<string, number>()
  for (const { name, address, at } of listOthers(configuration.config.listen))
    otherPorts.set(name, await claimPort(address, at))
  const others = listOthers(configuration.config.listen, otherPorts)
  const admin = createProcessAdmin(configuration, log)
  // Only the primary orders certificates.
  const tls = settings.enableAcme ? await openTls(settings, log, { folder: undefined }) : undefined
  const share = shareTls(tls)
  const store = storeLastGood()
  const drains = shareDrains()
  const attachChecks = shareChecks()
  const attach = (worker: Worker): void => {
    attachChecks(worker)
    drains.attach(worker)
    share(worker)
    store(worker)
  }
  const starting = admin.start(() =>
    startWorkers({
      ...{ count, address, http2Address, others, log },
      config: () => current.file,
      ...{ attach, drainTimeoutMs, signal },
    }),
  )
  let watched: Reloading | undefined
  let workers: Workers | undefined
  const stop = async (): Promise<void> => {
    watched?.close()
    stopper.abort()
    const started = await starting.catch(() => undefined)
    await started?.drain()
    await tls?.close()
    await admin.close()
  }
  const leave = (): void => {
    admin.leave()
    workers?.leave()
  }
  handleProcessSignals({ ...admin, leave, stop, reload: () => watched?.reload() }, log)
  restartOnSigusr2(async () => workers?.replace(), log)
  workers = await unlessAborted(starting, signal).catch(async (error: unknown) => {
    await tls?.close()
    throw error
  })
  if (workers === undefined) return undefined
  const { query, reload } = workers
  const apply = (next: Configuration): void => {
    const { configuration, restart } = keepFixed(current, next, requested)
    const before = current
    current = configuration
    requested = next
    log.level = configuration.settings.logLevel
    reload()
    reportReload(before, current, restart, log)
  }
  const versions = await openApiVersions({
    ...{ initial: configuration, load, log },
    noFileReason:
      'worker processes read the configuration from a file; start the gateway with --config',
    onSaved: (name, text) => watched?.accept(name, text),
    async install(next, save) {
      await save()
      apply(next)
    },
  })
  const read = async (input: NodesRequest) => {
    const results = await query<readonly NodeStatus[]>('nodes', { input })
    return [...results.values()].filter((nodes) => nodes !== undefined)
  }
  admin.setSources({
    versions,
    nodes: createNodeControl({ read, setDrained: drains.set }, log),
    async purge(selection) {
      const results = await query<number>('purge', { input: selection })
      return [...results.values()].reduce<number>((sum, removed = 0) => sum + removed, 0)
    },
    problems: createWorkerReadiness(query),
    metrics: createWorkerMetrics(() => query('metrics')),
    drainDelayMs: () => current.settings.drainDelayMs,
  })
  const files = (): readonly string[] => [...listFiles(current), ...listServiceFiles(current)]
  watched = reloadOnChange(createReloader(versions.reload, log), files, log)
  logUncaughtExceptions(log)
  const facts = { listener: settings.listener, port, http2Port: http2Address?.port, otherPorts }
  announce(configuration, { ...facts, admin: admin.url }, count, log)
  admin.warn()
  return port
}

/**
 * Returns the result of a startup that is no longer needed, or undefined if it failed or takes
 * longer than {@link START_GRACE_MS}.
 */
async function withinGrace<T>(starting: Promise<T>): Promise<T | undefined> {
  const started = starting.catch(() => undefined)
  return (await settlesWithin(started, START_GRACE_MS)) ? await started : undefined
}

/** Returns the result of a startup, or undefined if it was aborted, even if it failed. */
async function unlessAborted<T>(starting: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    const started = await starting
    return signal.aborted ? undefined : started
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/**
 * Runs a worker. The primary notifies workers of reloads and shutdown; each worker watches plugin
 * files itself.
 */
async function runWorker(
  load: LoadConfiguration,
  address: Address,
  env: NodeJS.ProcessEnv,
): Promise<Address> {
  const http2 = env[HTTP2_ADDRESS_VARIABLE]
  const addresses = readOtherAddresses(env)
  const http2Address = http2 === undefined ? undefined : parseBindAddress(http2)
  const loadShared: LoadConfiguration = async (text) => {
    const { settings, config, ...rest } = await load(text)
    return {
      ...rest,
      settings: { ...settings, address, http2Address },
      config: { ...config, listen: setAddresses(config.listen, addresses) },
    }
  }
  // Only requested for a restart in place, because a primary of another version may not support the
  // request.
  const last = IN_PLACE_VARIABLE in process.env ? await requestLastGood() : undefined
  const { configuration, rejection } = await loadOrFallBack(loadShared, last?.config)
  const { settings } = configuration
  const log = openLog(configuration)
  if (rejection !== undefined) logRejection(rejection, log)
  const version = explainVersion(process.env)
  if (version !== undefined) log.warn(version)
  const { adminAddress, enableAcme } = settings
  const tls = enableAcme
    ? await receiveTls()
    : await openTls(settings, log, { folder: HOME_FOLDER, last: last?.pairs })
  const clientCa = openClientCa(settings, log, last?.clientCa)
  const drains = await receiveDrains()
  const api = await startGatewayServer({
    ...{ configuration, log, shared: true, tls, clientCa, drained: drains.current },
    shareCheck: drains.isSupported ? receiveChecks() : undefined,
    ...createMetrics(adminAddress),
  })
  drains.subscribe(api.processNodes.setDrained)
  const publish = (pairs = tls?.pairs ?? []): void =>
    publishLastGood({
      config: api.active.configuration.config.text,
      // The primary owns ACME certificates.
      pairs: enableAcme ? [] : pairs,
      clientCa: clientCa?.pem ?? '',
    })
  publish()
  tls?.onChange(publish)
  clientCa?.onChange(() => publish())
  const reload = async (): Promise<void> => {
    await api.reload(await loadShared())
    publish()
  }
  serveIpc({
    problems: api.problems,
    metrics: () => readAll(api.measured),
    nodes: api.processNodes.read,
    purge: api.caches.purge,
  })
  const watched = reloadOnChange(createReloader(reload, log), pluginFiles, log)
  let draining = false
  const drain = (hasSuccessor?: boolean): void => {
    if (draining) return
    draining = true
    watched.close()
    endAfter(api.drain(hasSuccessor), log)
  }
  logUncaughtExceptions(log)
  // A terminal also sends Ctrl-C to the primary, which ends its workers. A worker without a primary
  // ends by itself.
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('SIGUSR2', () => {})
  // Service managers send SIGTERM to all processes, including the primary.
  process.on('SIGTERM', () =>
    setTimeout(drain, api.active.configuration.settings.drainDelayMs, false),
  )
  process.on('disconnect', () => drain())
  handlePrimaryMessages(api, { reload: watched.reload, drain })
  return address
}

/**
 * Loads the configuration, or the last valid configuration if it is rejected.
 *
 * @throws {SettingsError} if there is no last valid configuration.
 */
async function loadOrFallBack(
  load: LoadConfiguration,
  last: string | undefined,
): Promise<{ readonly configuration: Configuration; readonly rejection?: unknown }> {
  try {
    return { configuration: await load() }
  } catch (rejection) {
    if (last === undefined) throw rejection
    return { configuration: await load(last), rejection }
  }
}

/** Metrics are collected only if there is an admin server. */
function createMetrics(admin: unknown): Pick<ApiParts, 'metrics'> {
  return admin === undefined ? {} : { metrics: new RequestMetrics() }
}

import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'
import { type Api, type ApiOptions, startApi } from './api.ts'
import { printBanner } from './banner.ts'
import { type Configuration, configurationFrom, keepFixed, type LoadConfiguration } from './configuration.ts'
import { createLog, type Log } from './log.ts'
import { planPlugins } from './plugin-list.ts'
import { claimPort } from './port.ts'
import { createReloader } from './reloader.ts'
import { backendServices } from './services.ts'
import type { GivenSettings } from './settings-sources.ts'
import { endAfter, obeySignals, surviveFaults } from './signals.ts'
import { readVersion } from './version.ts'
import { watchFile } from './watch-file.ts'
import { PORT_VARIABLE, READY, startWorkers, type WorkerOrder } from './workers.ts'

/**
 * Runs `mx api` in this process until a signal ends it. Returns when it serves.
 *
 * @throws {SettingsError} for wrong settings, {@link Error} with one line for whatever else keeps it from serving; nothing is left running then.
 */
export async function runApi(flags: GivenSettings, env: NodeJS.ProcessEnv): Promise<void> {
  const load = configurationFrom(flags, env)
  const configuration = await load()
  const { settings } = configuration
  const log = createLog(settings.logLevel)
  const count = settings.workers === 'auto' ? availableParallelism() : settings.workers
  const port = env[PORT_VARIABLE]
  if (cluster.isWorker && port !== undefined) await runWorker(load, configuration, Number(port), log)
  else if (count > 1) await runPrimary(load, configuration, count, log)
  else await runAlone(load, configuration, log)
}

async function runAlone(load: LoadConfiguration, configuration: Configuration, log: Log): Promise<void> {
  const { settings, file } = configuration
  if (settings.address.port !== 0) await claimPort(settings.address)
  const api = await startOrReport({ configuration, log })
  const reload = createReloader(load, api.reload, log)
  const unwatch = watchConfiguration(file, reload, log)
  const stop = async (): Promise<void> => {
    unwatch()
    await api.drain()
  }
  obeySignals({ stop, reload: () => void reload() }, log)
  surviveFaults(log)
  announce(configuration, api.listener, api.port, 1, log)
}

async function runPrimary(load: LoadConfiguration, configuration: Configuration, count: number, log: Log): Promise<void> {
  let current = configuration
  const { settings, file } = configuration
  const port = await claimPort(settings.address)
  const drainTimeoutMs = (): number => current.settings.drainTimeoutMs
  const workers = await startWorkers({ count, port, log, drainTimeoutMs })
  const apply = (next: Configuration): void => {
    const { settings, restart } = keepFixed(current.settings, next.settings)
    current = { ...next, settings }
    log.level = settings.logLevel
    warnOfRestart(restart, log)
    workers.reload()
  }
  const reload = createReloader(load, apply, log)
  const unwatch = watchConfiguration(file, reload, log)
  const stop = async (): Promise<void> => {
    unwatch()
    await workers.drain()
  }
  obeySignals({ stop, reload: () => void reload() }, log)
  announce(configuration, settings.listener, port, count, log)
}

async function runWorker(load: LoadConfiguration, configuration: Configuration, port: number, log: Log): Promise<void> {
  const { settings } = configuration
  const address = { ...settings.address, port }
  const shared = { ...configuration, settings: { ...settings, address } }
  const api = await startOrReport({ configuration: shared, log, shared: true })
  const reload = createReloader(load, api.reload, log)
  let draining = false
  const drain = (): void => {
    if (draining) return
    draining = true
    endAfter(api.drain(), log)
  }
  surviveFaults(log)
  // A terminal sends Ctrl-C to the primary too, which decides; a worker left alone ends.
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  process.on('SIGTERM', drain)
  process.on('disconnect', drain)
  process.on('message', (order: WorkerOrder) => {
    if (order === 'drain') drain()
    else if (order === 'reload') void reload()
  })
  process.send?.(READY)
}

/** {@link startApi}, with settings that need a restart reported at reloads. */
async function startOrReport(options: ApiOptions): Promise<Api> {
  const api = await startApi(options)
  return api
}

function watchConfiguration(file: string | undefined, reload: () => Promise<void>, log: Log): () => void {
  if (file === undefined) return () => {}
  const onTrouble = (error: Error): void => log.warn({ file, err: error }, 'configuration file is not watched; SIGHUP still reads it')
  return watchFile(file, () => void reload(), onTrouble)
}

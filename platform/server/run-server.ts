import { readAll } from '../admin/metrics/read-all.ts'
import { createProcessAdmin } from '../admin/process-admin.ts'
import { listServiceFiles } from '../config/configured-services.ts'
import { lintConfiguration } from '../config/lint.ts'
import { configurationFrom } from '../config/load.ts'
import { listFiles, type Reloading, reloadOnChange } from '../config/reload-on-change.ts'
import { createReloader } from '../config/reloader.ts'
import { hasTerminal } from '../gateway/banner.ts'
import { pluginFiles } from '../plugins/load.ts'
import { createLog } from '../process/log.ts'
import { handleProcessSignals, logUncaughtExceptions, logWarnings } from '../process/signals.ts'
import { findMisspelt } from '../settings/env.ts'
import { parseFlags } from '../settings/flags.ts'
import { parseBindAddress } from '../settings/parse/address.ts'
import { restartOnSigusr2 } from '../workers/on-sigusr2.ts'
import { type Server, startServer } from './server.ts'
import { printServerBanner } from './server-banner.ts'

/**
 * Runs `mx server` in this process until a signal ends it. Returns once it is serving, or undefined
 * if a signal arrived earlier.
 *
 * @throws {SettingsError} for invalid settings.
 * @throws {Error} with a one-line message for other failures. Everything is closed in both cases.
 */
export async function runServer(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Server | undefined> {
  const { flags, problems } = parseFlags(words, 'server')
  const load = configurationFrom(flags, env, 'server', problems)
  const configuration = await load()
  const { settings } = configuration
  const log = createLog(settings.logLevel, configuration.config.references.hidden.hideInLog)
  logWarnings(log)
  for (const problem of findMisspelt(env)) log.warn(problem)
  const stopper = new AbortController()
  const admin = createProcessAdmin(configuration, log)
  const starting = admin.start(() =>
    startServer({
      ...{ configuration, log, signal: stopper.signal },
      versions: { load, onSaved: (name, text) => watched?.accept(name, text) },
      canShowPassword: hasTerminal(log),
      listeners: () => (admin.url === undefined ? [] : [parseBindAddress(new URL(admin.url).host)]),
    }),
  )
  let watched: Reloading | undefined
  const stop = async (): Promise<void> => {
    stopper.abort()
    watched?.close()
    const server = await starting.catch(() => undefined)
    await server?.drain()
    await admin.close()
  }
  handleProcessSignals({ ...admin, stop, reload: () => watched?.reload(), name: 'server' }, log)
  restartOnSigusr2(undefined, log)
  const server = await starting.catch((error: unknown) => {
    if (!stopper.signal.aborted) throw error
  })
  if (server === undefined || stopper.signal.aborted) return undefined
  admin.setSources({
    nodes: server.api.nodes,
    purge: server.api.caches.purge,
    problems: server.api.problems,
    metrics: () => readAll(server.api.measured),
    drainDelayMs: () => server.api.active.configuration.settings.drainDelayMs,
  })
  logUncaughtExceptions(log)
  const files = (): readonly string[] => [
    ...listFiles(server.api.active.configuration),
    ...listServiceFiles(server.api.active.configuration),
    ...pluginFiles(),
  ]
  const reload = async (): Promise<void> => server.versions?.reload()
  watched = reloadOnChange(createReloader(reload, log), files, log)
  printServerBanner({ ...server, admin: admin.url }, configuration, log)
  admin.warn()
  for (const warning of lintConfiguration(configuration, 'server')) log.warn(warning)
  return server
}

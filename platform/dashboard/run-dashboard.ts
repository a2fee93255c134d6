import { forwardCall } from '../../core/rpc/proxy-call.ts'
import { createFixed } from '../../sdk/client/targets.ts'
import { formatFacts, hasTerminal } from '../gateway/banner.ts'
import { chooseListener } from '../gateway/listeners/choose-listener.ts'
import { buildPlugins } from '../plugins/build.ts'
import type { PlannedPlugin } from '../plugins/plan.ts'
import { createLog, type Log } from '../process/log.ts'
import { handleProcessSignals, logUncaughtExceptions, logWarnings } from '../process/signals.ts'
import { readVersion } from '../process/version.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'
import { type Dashboard, type DashboardOptions, startDashboard } from './dashboard.ts'

export interface StandaloneDashboardOptions
  extends Pick<DashboardOptions, 'idleTimeoutMs' | 'maxAgeMs'> {
  readonly address: Address
  /** Allowed host names in addition to this machine's names and IP addresses; `any` allows all. */
  readonly hosts: 'any' | readonly string[]
  /** RPC proxy of the server as `host:port`, optionally prefixed with `mx://` or `mxs://`. */
  readonly proxy: string
}

const DRAIN_MS = 10_000

/**
 * Runs a standalone dashboard for a remote server in this process until a signal ends it. Returns
 * once it is serving.
 *
 * @throws {Error} with a one-line message if it cannot start.
 */
export async function runDashboard(options: StandaloneDashboardOptions): Promise<void> {
  const log = createLog('info')
  logWarnings(log)
  const { address, proxy } = options
  const dashboard = await openStandaloneDashboard(options, log)
  const stop = async (): Promise<void> => {
    await dashboard.drain(DRAIN_MS)
    await dashboard.close()
  }
  handleProcessSignals({ stop, reload: () => {}, name: 'dashboard' }, log)
  logUncaughtExceptions(log)
  const url = `http://${formatAddress({ ...address, port: dashboard.port })}`
  const facts = { dashboard: url, 'rpc proxy': proxy }
  if (hasTerminal(log)) process.stderr.write(formatFacts(`mx ${readVersion()} dashboard`, facts))
  else log.info(facts, 'dashboard ready')
}

/**
 * @throws {Error} with a one-line message if the port is not available or the proxy address is
 * invalid.
 */
async function openStandaloneDashboard(
  { address, hosts, proxy, idleTimeoutMs, maxAgeMs }: StandaloneDashboardOptions,
  log: Log,
): Promise<Dashboard> {
  const upstream = createFixed(proxy)
  const guards: PlannedPlugin[] = [
    ...(hosts === 'any' ? [] : [{ specifier: 'hosts', options: { allow: hosts } }]),
    { specifier: 'origins', options: {} },
  ].map((plugin) => ({ ...plugin, source: '--hosts' }))
  const dashboard = await startDashboard({
    address,
    createListener: chooseListener({ listener: 'uws', http2: 'tls' }, log),
    ...{ idleTimeoutMs, maxAgeMs },
    callBridge: (call) => forwardCall(call, () => upstream),
    guards: await buildPlugins(guards, { log, nowMs: Date.now }),
    log,
  })
  return {
    ...dashboard,
    async close() {
      await dashboard.close()
      upstream.close()
    },
  }
}

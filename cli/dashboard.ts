import type { CAC } from 'cac'
import { HOSTS } from '../platform/settings/parse/client-filter.ts'
import type { Setting, ValueType } from '../platform/settings/setting.ts'
import { LISTEN_SETTINGS } from '../platform/settings/table/listen.ts'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { findEnvironment } from './session/environments.ts'
import { withSession } from './session/session.ts'
import { CliError, EXIT, printProblems } from './ui/output.ts'

const FLAGS = {
  address: 'string',
  hosts: 'strings',
  session_idle_timeout: 'string',
  session_max_age: 'string',
  env: 'string',
} as const

/** Runs the dashboard of an environment on this machine, until a signal ends it. @throws {CliError} */
export async function runDashboardCommand(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  if (words.length > 0)
    throw new CliError(
      `Too many arguments, expected no arguments; --address says where it listens, --env whose it is`,
      { status: EXIT.usage },
    )
  const { address: proxy } = findEnvironment(flags.env)
  const { webAddress, webSessionIdleTimeoutMs, webSessionMaxAgeMs } = LISTEN_SETTINGS
  const readSetting = <T>(
    name: 'address' | 'session_idle_timeout' | 'session_max_age',
    setting: Setting<T>,
  ): T => read(name, setting, [flags[name] ?? setting.default])
  const address = readSetting('address', webAddress)
  const hosts = read('hosts', HOSTS, flags.hosts ?? [])
  const idleTimeoutMs = readSetting('session_idle_timeout', webSessionIdleTimeoutMs)
  const maxAgeMs = readSetting('session_max_age', webSessionMaxAgeMs)
  const { runDashboard } = await import('../platform/dashboard/run-dashboard.ts')
  await runDashboard({ address, hosts, proxy, idleTimeoutMs, maxAgeMs })
  await reportUnreachableServer(flags)
}

/** Prints why the server is unreachable; the pages only show that it is. It may become reachable later. */
async function reportUnreachableServer(flags: CommandLine<typeof FLAGS>['flags']): Promise<void> {
  const { env } = flags
  await withSession(env === undefined ? {} : { env }, async ({ callAnonymously }) => {
    await callAnonymously('registry', 'Debug.Health', {})
  }).catch(({ status, message }: CliError) => {
    if (status === EXIT.unreachable) printProblems([message])
  })
}

/** @throws {CliError} naming the flag. */
function read<T>(flag: string, { parse }: ValueType<T>, values: readonly string[]): T {
  try {
    return parse(values)
  } catch (cause) {
    throw new CliError(`--${flag} ${(cause as Error).message}`, { status: EXIT.usage, cause })
  }
}

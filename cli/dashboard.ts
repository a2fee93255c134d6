import type { CAC } from 'cac'
import {
  parseAddress,
  parseHosts,
  parseSessionTime,
  SESSION_IDLE_TIMEOUT,
  SESSION_MAX_AGE,
} from '../platform/settings/values.ts'
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
/** Where `mx server` has it. */
const ADDRESS = '127.0.0.1:8082'

/** Runs the dashboard of an environment on this machine, until a signal ends it. @throws {CliError} */
export async function runDashboardCommand(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  if (words.length > 0)
    throw new CliError(
      `Too many arguments, expected no arguments; --address says where it listens, --env whose it is`,
      { status: EXIT.usage },
    )
  const { address: proxy } = findEnvironment(flags.env)
  const address = read('--address', () => parseAddress(flags.address ?? ADDRESS))
  const hosts = read('--hosts', () => parseHosts(flags.hosts ?? []))
  const readTime = (name: 'session_idle_timeout' | 'session_max_age', standard: string): number =>
    read(`--${name}`, () => parseSessionTime(flags[name] ?? standard))
  const idleTimeoutMs = readTime('session_idle_timeout', SESSION_IDLE_TIMEOUT)
  const maxAgeMs = readTime('session_max_age', SESSION_MAX_AGE)
  const { runDashboard } = await import('../platform/dashboard/run-dashboard.ts')
  await runDashboard({ address, hosts, proxy, idleTimeoutMs, maxAgeMs })
  await tellAbsence(flags)
}

/** Its pages say but that there is no server; why is for whoever runs it. It may be there later. */
async function tellAbsence(flags: CommandLine<typeof FLAGS>['flags']): Promise<void> {
  const { env } = flags
  await withSession(env === undefined ? {} : { env }, async ({ callAnonymously }) => {
    await callAnonymously('registry', 'Debug.Health', {})
  }).catch(({ status, message }: CliError) => {
    if (status === EXIT.unreachable) printProblems([message])
  })
}

/** @throws {CliError} naming the flag. */
function read<T>(flag: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    throw new CliError(`${flag} ${(cause as Error).message}`, { status: EXIT.usage, cause })
  }
}

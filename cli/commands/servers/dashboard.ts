import type { ValueType } from '../../../lib/values/value-type.ts'
import { HOSTS } from '../../../platform/settings/parse/client-filter.ts'
import type { Setting } from '../../../platform/settings/setting.ts'
import { LISTEN_SETTINGS } from '../../../platform/settings/table/listen.ts'
import type { FlagsOf } from '../../args/args.ts'
import { type Command, defineCommand } from '../../command.ts'
import { findEnvironment } from '../../session/environments.ts'
import { ENV_FLAG, withSession } from '../../session/session.ts'
import { CliError, EXIT, printProblems } from '../../ui/output.ts'

const FLAGS = {
  '--address <host:port>': 'Address to listen on (default: 127.0.0.1:8082)',
  '--hosts <name>...': 'Allowed host name in addition to localhost, or any',
  '--session_idle_timeout <duration>': 'Session lifetime without an open page (default: 30m)',
  '--session_max_age <duration>': 'Session lifetime after the login (default: 12h)',
  ...ENV_FLAG,
}

const command: Command = defineCommand({
  name: 'dashboard',
  description: 'Start a standalone dashboard for an environment',
  // Empty usage, because the command rejects arguments with its own message.
  usage: '',
  flags: FLAGS,
  examples: ['mx dashboard', 'mx dashboard --address 127.0.0.1:9082 --env staging'],
  async run(words, flags) {
    if (words.length > 0)
      throw new CliError(
        'Too many arguments, expected no arguments; use --address for the address to listen on and --env for the environment',
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
    const { runDashboard } = await import('../../../platform/dashboard/run-dashboard.ts')
    await runDashboard({ address, hosts, proxy, idleTimeoutMs, maxAgeMs })
    await reportUnreachableServer(flags)
  },
})

export default command

/** Prints the reason why the server is unreachable, which the pages do not show. */
async function reportUnreachableServer(flags: FlagsOf<typeof FLAGS>): Promise<void> {
  const { env } = flags
  await withSession(env === undefined ? {} : { env }, async ({ callAnonymously }) => {
    await callAnonymously('registry', 'Debug.Health', {})
  }).catch(({ status, message }: CliError) => {
    if (status === EXIT.unreachable) printProblems([message])
  })
}

/** @throws {CliError} with the flag name */
function read<T>(flag: string, { parse }: ValueType<T>, values: readonly string[]): T {
  try {
    return parse(values)
  } catch (cause) {
    throw new CliError(`--${flag} ${(cause as Error).message}`, { status: EXIT.usage, cause })
  }
}

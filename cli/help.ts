import { COMMANDS } from './commands.gen.ts'
import { formatColumns } from './ui/output.ts'

const USAGE = [
  'mx <command> [flags]',
  'mx <service> [<endpoint>] [--<field>=<value> ...]',
  'mx --env <name> --namespace <name> -o <format> <command or service> ...',
]
const MORE: readonly (readonly [string, string])[] = [
  ['mx <command> --help', 'Flags and examples of a command'],
  ['mx <service> --help', 'Endpoints of a running service'],
  ['mx <service> <endpoint> --help', 'Request fields of an endpoint'],
]
const EXAMPLES = ['mx api --handler=proxy --backend greeter=127.0.0.1:9001', 'mx run ./helloworld']

/** Commands in the order of help, grouped by subject; unlisted commands come last. */
const ORDER = [
  ...['server', 'api', 'dashboard'],
  ...['login', 'logout', 'signup', 'user', 'env'],
  ...['services', 'call', 'stream', 'stats'],
  ...[
    'auth',
    'quota',
    'config',
    'store',
    'broker',
    'events',
    'network',
    'registry',
    'nodes',
    'cache',
  ],
  ...['run', 'update', 'kill', 'logs', 'status'],
  ...['gen', 'new', 'completion', 'doctor', 'version', 'bench'],
]

/** Formats the output of `mx --help`. */
export async function formatHelp(): Promise<string> {
  const { readVersion } = await import('../platform/process/version.ts')
  const commands = COMMANDS.map(({ name, description }) => [name, description] as const).sort(
    ([a], [b]) => toRank(a) - toRank(b),
  )
  return [
    `mx/${readVersion()}`,
    'Service gateway and platform runtime',
    `Usage:\n${USAGE.map((line) => `  $ ${line}`).join('\n')}`,
    `Commands:\n${formatColumns(commands)}`,
    `More:\n${formatColumns(MORE)}`,
    `Examples:\n${EXAMPLES.map((line) => `  ${line}`).join('\n')}\n`,
  ].join('\n\n')
}

function toRank(command: string): number {
  const rank = ORDER.indexOf(command)
  return rank < 0 ? ORDER.length : rank
}

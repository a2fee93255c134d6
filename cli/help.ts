import { COMMANDS } from './commands.gen.ts'
import { formatColumns } from './ui/output.ts'

const USAGE = [
  'mx <command> [flags]',
  'mx <service> [<endpoint>] [--<field>=<value> ...]',
  'mx --env <name> --namespace <name> -o <format> <command or service> ...',
]
const ENDINGS: readonly (readonly [string, string])[] = [
  ['mx <command> --help', 'Flags and examples of a command'],
  ['mx <service> --help', 'Endpoints of a service that runs'],
  ['mx <service> <endpoint> --help', 'Fields of its request'],
]

/** Commands in the order of help, by subject; any other comes last. */
const ORDER = [
  ...['server', 'api', 'dashboard'],
  ...['login', 'logout', 'signup', 'user', 'env'],
  ...['services', 'call', 'stream', 'stats'],
  ...['auth', 'config', 'store', 'broker', 'events', 'network', 'registry'],
  ...['run', 'update', 'kill', 'logs', 'status'],
  ...['gen', 'new', 'completion', 'doctor', 'version', 'bench'],
]

/** The output of `mx --help`. */
export async function formatHelp(): Promise<string> {
  const { readVersion } = await import('../platform/process/version.ts')
  const commands = COMMANDS.map(({ name, description }) => [name, description] as const).sort(
    ([a], [b]) => toPlace(a) - toPlace(b),
  )
  return [
    `mx/${readVersion()}`,
    `Usage:\n${USAGE.map((line) => `  $ ${line}`).join('\n')}`,
    `Commands:\n${formatColumns(commands)}`,
    `More:\n${formatColumns(ENDINGS)}\n`,
  ].join('\n\n')
}

function toPlace(command: string): number {
  const place = ORDER.indexOf(command)
  return place < 0 ? ORDER.length : place
}

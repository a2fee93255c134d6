import { COMMANDS } from './command-table.ts'
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

/** What `mx --help` shows. */
export async function formatHelp(): Promise<string> {
  const { readVersion } = await import('../platform/process/version.ts')
  const commands = COMMANDS.map(({ name, description }) => [name, description] as const)
  return [
    `mx/${readVersion()}`,
    `Usage:\n${USAGE.map((line) => `  $ ${line}`).join('\n')}`,
    `Commands:\n${formatColumns(commands)}`,
    `More:\n${formatColumns(ENDINGS)}\n`,
  ].join('\n\n')
}

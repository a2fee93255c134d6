#!/usr/bin/env node
import { type CAC, cac } from 'cac'
import { CliError, EXIT, printProblems } from './output.ts'

interface CommandEntry {
  readonly name: string
  readonly description: string
  /** Loaded when the command is used, so that the others cost nothing. */
  readonly load: () => Promise<(cli: CAC) => Promise<void> | void>
}

/** All commands, in the order of help. */
const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'server',
    description: 'Start the whole system',
    load: async () => (await import('./commands/server.ts')).registerServer,
  },
  {
    name: 'api',
    description: 'Start the gateway alone',
    load: async () => (await import('./commands/api.ts')).registerApi,
  },
  {
    name: 'login',
    description: 'Log in to an environment',
    load: async () => (await import('./commands/login.ts')).registerLogin,
  },
  {
    name: 'logout',
    description: 'Log out of an environment',
    load: async () => (await import('./commands/logout.ts')).registerLogout,
  },
  {
    name: 'user',
    description: 'Show who is logged in, a token, the namespace',
    load: async () => (await import('./commands/user.ts')).registerUser,
  },
  {
    name: 'auth',
    description: 'Manage accounts and rules',
    load: async () => (await import('./commands/auth.ts')).registerAuth,
  },
  {
    name: 'run',
    description: 'Run a service from a folder or a repository',
    load: async () => (await import('./commands/run.ts')).registerRun,
  },
  {
    name: 'update',
    description: 'Take what runs to its newest code, without losing a call',
    load: async () => (await import('./commands/update.ts')).registerUpdate,
  },
  {
    name: 'kill',
    description: 'End what runs',
    load: async () => (await import('./commands/kill.ts')).registerKill,
  },
  {
    name: 'logs',
    description: 'Show what a service has written',
    load: async () => (await import('./commands/logs.ts')).registerLogs,
  },
  {
    name: 'status',
    description: 'Show what runs',
    load: async () => (await import('./commands/status.ts')).registerStatus,
  },
  {
    name: 'bench',
    description: 'Drive one route of a running gateway and measure it',
    load: async () => (await import('./commands/bench.ts')).registerBench,
  },
]

/** Runs the command of `argv` (as `process.argv`); returns the exit status, or undefined while it goes on running. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  const word = argv[2]!
  const entry = COMMANDS.find(({ name }) => name === word)
  if (entry === undefined && !['-h', '--help', '-v', '--version'].includes(word)) {
    const { suggest } = await import('../core/suggest.ts')
    const meant = suggest(
      word,
      word.startsWith('-') ? ['--help', '--version'] : COMMANDS.map(({ name }) => name),
    )
    const what = word.startsWith('-') ? 'flag' : 'command'
    const hint = meant === undefined ? '.' : `, did you mean ${meant}?`
    printProblems([`unrecognized ${what}: ${word}${hint} See 'mx --help'`])
    return EXIT.usage
  }
  const { readVersion } = await import('../platform/version.ts')
  const cli = cac('mx').help().version(readVersion())
  for (const { name, description } of COMMANDS)
    if (name !== entry?.name) cli.command(name, description)
  if (entry !== undefined) await (await entry.load())(cli)
  try {
    cli.parse([argv[0]!, argv[1]!, word, ...argv.slice(3)], { run: false })
    await cli.runMatchedCommand()
    return undefined
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // A worker process has told what is wrong, and how it ends.
    if (error.name === 'WorkerStartError' && 'status' in error) return Number(error.status)
    printProblems(explain(error, cli))
    if (error instanceof CliError) return error.status
    return error.name === 'CACError' || error.name === 'SettingsError' ? EXIT.usage : EXIT.failed
  }
}

function explain(error: Error, cli: CAC): readonly string[] {
  if ('problems' in error) return error.problems as readonly string[]
  const seeHelp = `See 'mx ${cli.matchedCommandName} --help'`
  return [
    error.name === 'CACError' ? `${error.message.replaceAll('`', '')}. ${seeHelp}` : error.message,
  ]
}

/** `mx help api` is `mx api --help`, and no word at all asks for help too. */
function toCommandLine([node, program, word, ...rest]: readonly string[]): readonly string[] {
  if (word !== undefined && word !== 'help') return [node!, program!, word, ...rest]
  return [node!, program!, ...rest.slice(0, 1), '--help']
}

const status = await main(toCommandLine(process.argv))
// Not exitCode: the channel of a worker process to its primary would keep it running.
if (status !== undefined) process.exit(status)

#!/usr/bin/env node
import { splitGlobals } from './args/global-flags.ts'
import type { CommandEntry } from './command.ts'
import { COMMANDS } from './commands.gen.ts'
import { CliError, EXIT, printProblems, watchOutput } from './ui/output.ts'
import { guardTerminal } from './ui/terminal.ts'

/** Flags that are aliases of commands. */
const WORDS: Readonly<Record<string, string>> = { '-v': 'version', '--version': 'version' }

/** Hidden command that shells call to complete a line (`mx completion`). */
const COMPLETE = '__complete'

/** Runs the command of a command line. Returns the exit status, or undefined if the process keeps running. */
async function main(words: readonly string[]): Promise<number | undefined> {
  try {
    if (words[0] === COMPLETE) {
      const { printCandidates } = await import('./completion/candidates.ts')
      await printCandidates(words.slice(1))
      return EXIT.ok
    }
    const { globals, rest } = splitGlobals(toCommandLine(words))
    const [first = '--help', ...args] = rest
    const command = WORDS[first] ?? first
    const entry = COMMANDS.find(({ name }) => name === command)
    if (command.startsWith('-')) await showHelp(command)
    else if (entry !== undefined && !isServiceEndpoint(entry, args))
      await runBuiltIn(entry, [...globals, ...args])
    else return await runOther(command, args, globals)
    return undefined
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const { explainError } = await import('./ui/explain-error.ts')
    const { status, problems } = explainError(error)
    printProblems(problems)
    return status
  }
}

/** True if the next word is an endpoint of the service that shares its name with the command. */
function isServiceEndpoint(
  { subcommands }: CommandEntry,
  [next = '-']: readonly string[],
): boolean {
  return subcommands !== undefined && !next.startsWith('-') && !subcommands.includes(next)
}

async function runBuiltIn({ load }: CommandEntry, args: readonly string[]): Promise<void> {
  const [{ createParser }, command] = await Promise.all([import('./command-parser.ts'), load()])
  const parser = await createParser(command, args)
  parser.parse(['node', 'mx', command.name, ...args], { run: false })
  // Undefined if `--help` was printed.
  if (parser.matchedCommand !== undefined) await command.run(args)
}

/** Runs an external program if it exists; otherwise calls a service (reference 8.2). */
async function runOther(
  word: string,
  args: readonly string[],
  globals: readonly string[],
): Promise<number | undefined> {
  const { findExternal, runExternal } = await import('./external.ts')
  const program = findExternal(word)
  if (program !== undefined) return runExternal(program, args, globals)
  const { runDynamic } = await import('./dynamic.ts')
  await runDynamic(word, args, globals)
  return undefined
}

/** @throws {CliError} for a flag other than `--help` */
async function showHelp(flag: string): Promise<void> {
  if (flag !== '-h' && flag !== '--help') {
    const { suggest } = await import('../lib/text/did-you-mean.ts')
    const similar = suggest(flag, ['--help', '--version'])
    const hint = similar === undefined ? '.' : `, did you mean ${similar}?`
    throw new CliError(`unrecognized flag: ${flag}${hint} See 'mx --help'`, { status: EXIT.usage })
  }
  const { formatHelp } = await import('./help.ts')
  process.stdout.write(await formatHelp())
}

/** Converts `mx help api` to `mx api --help`. */
function toCommandLine([word, ...rest]: readonly string[]): readonly string[] {
  return word === 'help' ? [...rest, '--help'] : [word ?? '--help', ...rest]
}

watchOutput()
guardTerminal(process.stdout)
guardTerminal(process.stderr)
const status = await main(process.argv.slice(2))
// Setting exitCode is not enough, because a worker's channel to its primary process keeps it running.
if (status !== undefined) process.exit(status)

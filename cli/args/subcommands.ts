import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** A command of several words, such as `auth create rule`. */
export interface Subcommand<F> {
  /** Those behind the first. */
  readonly words: string
  /** Names of its arguments, for errors: `[PATH]` may be missing, `ADDRESS...` are one or more. */
  readonly args: readonly string[]
  readonly run: (args: readonly string[], flags: F) => Promise<void>
}

/**
 * Runs the one that is meant.
 *
 * @param command its first word.
 * @throws {CliError} when there is none, or the number of arguments is wrong.
 */
export async function runSubcommand<F>(
  command: string,
  subcommands: readonly Subcommand<F>[],
  words: readonly string[],
  flags: F,
): Promise<void> {
  const given = words.map(String)
  const found = subcommands
    .filter((each) => given.slice(0, count(each)).join(' ') === each.words)
    .sort((a, b) => count(b) - count(a))[0]
  if (found === undefined || (found.words === '' && given.length > found.args.length))
    throw new CliError(explain(command, subcommands, given), { status: EXIT.usage })
  const args = given.slice(count(found))
  checkCount(command, found.args, args.length)
  await found.run(args, flags)
}

/** @throws {CliError} */
function checkCount(command: string, names: readonly string[], given: number): void {
  const least = names.filter((name) => !name.startsWith('[')).length
  const most = names.some((name) => name.endsWith('...')) ? Number.POSITIVE_INFINITY : names.length
  if (given >= least && given <= most) return
  const what = formatCount(least, most)
  const all = names.length === 0 ? '' : `: ${names.join(' ')}`
  const much = given > most ? 'Too many' : 'Too few'
  throw new CliError(`${much} arguments, expected ${what}${all}. See 'mx ${command} --help'`, {
    status: EXIT.usage,
  })
}

function formatCount(least: number, most: number): string {
  if (most === Number.POSITIVE_INFINITY) return `at least ${formatArguments(least)}`
  if (least === most) return formatArguments(least)
  return least === 0 ? `at most ${formatArguments(most)}` : `${least} to ${formatArguments(most)}`
}

function formatArguments(n: number): string {
  return n === 1 ? 'one argument' : `${n || 'no'} arguments`
}

function count({ words }: { readonly words: string }): number {
  return words === '' ? 0 : words.split(' ').length
}

function explain(
  command: string,
  subcommands: readonly Subcommand<never>[],
  given: readonly string[],
): string {
  const known = subcommands.map(({ words }) => words).filter((words) => words !== '')
  const all = `the subcommands are ${known.join(', ')}.`
  if (given.length === 0) return `No subcommand provided to mx ${command}: ${all}`
  const meant = suggest(given.slice(0, 2).join(' '), known) ?? suggest(given[0]!, known)
  const hint = meant === undefined ? all : `did you mean ${meant}?`
  const isBegun = known.some((words) => words.startsWith(`${given[0]} `))
  const typed = isBegun ? given.slice(0, 2).join(' ') : given[0]
  return `Unrecognized subcommand for mx ${command}: ${typed}, ${hint} See 'mx ${command} --help'`
}

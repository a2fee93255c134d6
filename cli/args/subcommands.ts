import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT, usageError } from '../ui/output.ts'

/** Texts of the arguments in a form such as `create rule <id>`. */
type ArgsOf<Form extends string> = Form extends `${infer Head} ${infer Tail}`
  ? [...ArgOf<Head>, ...ArgsOf<Tail>]
  : ArgOf<Form>
type ArgOf<Word extends string> = Word extends `<${string}>...`
  ? [string, ...string[]]
  : Word extends `<${string}>`
    ? [string]
    : Word extends `[${string}]`
      ? [string?]
      : []

/** Actions by the form of the subcommand: words, then arguments: `<id>`, `[path]` (optional), `<address>...` (one or more). */
export type Subcommands<Form extends string, Flags> = {
  readonly [F in Form]: (args: ArgsOf<F>, flags: Flags) => Promise<void>
}

interface Subcommand<Flags> {
  readonly words: readonly string[]
  readonly args: readonly string[]
  readonly run: (args: never, flags: Flags) => Promise<void>
}

/**
 * Runs the subcommand that matches.
 *
 * @param command first word.
 * @throws {CliError} for an unknown subcommand, and a wrong number of arguments.
 */
export async function runSubcommand<Form extends string, Flags>(
  command: string,
  subcommands: Subcommands<Form, Flags>,
  words: readonly string[],
  flags: Flags,
): Promise<void> {
  const all = Object.entries<Subcommand<Flags>['run']>(subcommands).map(
    ([form, run]): Subcommand<Flags> => ({ ...splitForm(form), run }),
  )
  const found = all
    .filter((each) => each.words.every((word, i) => words[i] === word))
    .sort((a, b) => b.words.length - a.words.length)[0]
  if (found === undefined || (found.words.length === 0 && words.length > found.args.length))
    throw explain(command, Object.keys(subcommands).map(toPhrase), words)
  const args = words.slice(found.words.length)
  checkCount(command, found.args, args.length)
  await found.run(args as never, flags)
}

/** The words of `create rule <id>`, and the names of its arguments, in capitals. */
function splitForm(form: string): Pick<Subcommand<never>, 'words' | 'args'> {
  const parts = form.split(' ').filter((part) => part !== '')
  const isWord = (part: string): boolean => /^[a-z]+$/.test(part)
  return {
    words: parts.filter(isWord),
    args: parts
      .filter((part) => !isWord(part))
      .map((part) => part.replace(/[<>]/g, '').toUpperCase()),
  }
}

/** `create rule` of `create rule <id>`. */
export function toPhrase(form: string): string {
  return splitForm(form).words.join(' ')
}

/** @throws {CliError} */
function checkCount(command: string, names: readonly string[], given: number): void {
  const least = names.filter((name) => !name.startsWith('[')).length
  const most = names.some((name) => name.endsWith('...')) ? Number.POSITIVE_INFINITY : names.length
  if (given >= least && given <= most) return
  const what = formatCount(least, most)
  const all = names.length === 0 ? '' : `: ${names.join(' ')}`
  const much = given > most ? 'Too many' : 'Too few'
  throw usageError(command, `${much} arguments, expected ${what}${all}.`)
}

function formatCount(least: number, most: number): string {
  if (most === Number.POSITIVE_INFINITY) return `at least ${formatArguments(least)}`
  if (least === most) return formatArguments(least)
  return least === 0 ? `at most ${formatArguments(most)}` : `${least} to ${formatArguments(most)}`
}

function formatArguments(n: number): string {
  return n === 1 ? 'one argument' : `${n || 'no'} arguments`
}

function explain(command: string, phrases: readonly string[], given: readonly string[]): CliError {
  const known = phrases.filter((phrase) => phrase !== '')
  const all = `the subcommands are ${known.join(', ')}.`
  if (given.length === 0) {
    const message = `No subcommand provided to mx ${command}: ${all}`
    return new CliError(message, { status: EXIT.usage })
  }
  const meant = suggest(given.slice(0, 2).join(' '), known) ?? suggest(given[0]!, known)
  const hint = meant === undefined ? all : `did you mean ${meant}?`
  const isBegun = known.some((phrase) => phrase.startsWith(`${given[0]} `))
  const typed = isBegun ? given.slice(0, 2).join(' ') : given[0]
  return usageError(command, `Unrecognized subcommand for mx ${command}: ${typed}, ${hint}`)
}

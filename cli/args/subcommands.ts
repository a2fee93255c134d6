import { suggest } from '../../lib/text/did-you-mean.ts'
import { CliError, EXIT, usageError } from '../ui/output.ts'

/** Types of the arguments in a form such as `create rule <id>`. */
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

/**
 * Actions by the form of the subcommand: words, followed by the arguments `<id>`, `[path]` (optional), or
 * `<address>...` (one or more).
 */
export type Subcommands<Form extends string, Flags> = {
  readonly [F in Form]: (args: ArgsOf<F>, flags: Flags) => Promise<void>
}

interface Subcommand<Flags> {
  readonly words: readonly string[]
  readonly args: readonly string[]
  readonly run: (args: never, flags: Flags) => Promise<void>
}

/**
 * Runs the subcommand with the longest match.
 *
 * @param command name, for errors
 * @throws {CliError} for an unknown subcommand, or a wrong number of arguments
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
  const match = all
    .filter((each) => each.words.every((word, i) => words[i] === word))
    .sort((a, b) => b.words.length - a.words.length)[0]
  if (match === undefined || (match.words.length === 0 && words.length > match.args.length))
    throw explain(command, Object.keys(subcommands).map(toPhrase), words)
  const args = words.slice(match.words.length)
  checkCount(command, match.args, args.length)
  await match.run(args as never, flags)
}

/** Splits a form such as `create rule <id>` into words and argument names in capitals. */
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

/** Returns the words of a form: `create rule` for `create rule <id>`. */
export function toPhrase(form: string): string {
  return splitForm(form).words.join(' ')
}

/** @throws {CliError} */
function checkCount(command: string, names: readonly string[], count: number): void {
  const least = names.filter((name) => !name.startsWith('[')).length
  const maxCount = names.some((name) => name.endsWith('...'))
    ? Number.POSITIVE_INFINITY
    : names.length
  if (count >= least && count <= maxCount) return
  const expected = formatCount(least, maxCount)
  const all = names.length === 0 ? '' : `: ${names.join(' ')}`
  const amount = count > maxCount ? 'Too many' : 'Too few'
  throw usageError(command, `${amount} arguments, expected ${expected}${all}.`)
}

function formatCount(least: number, max: number): string {
  if (max === Number.POSITIVE_INFINITY) return `at least ${formatArguments(least)}`
  if (least === max) return formatArguments(least)
  return least === 0 ? `at most ${formatArguments(max)}` : `${least} to ${formatArguments(max)}`
}

function formatArguments(n: number): string {
  return n === 1 ? 'one argument' : `${n || 'no'} arguments`
}

function explain(command: string, phrases: readonly string[], words: readonly string[]): CliError {
  const nonEmpty = phrases.filter((phrase) => phrase !== '')
  const all = `the subcommands are ${nonEmpty.join(', ')}.`
  if (words.length === 0) {
    const message = `No subcommand provided to mx ${command}: ${all}`
    return new CliError(message, { status: EXIT.usage })
  }
  const similar = suggest(words.slice(0, 2).join(' '), nonEmpty) ?? suggest(words[0]!, nonEmpty)
  const hint = similar === undefined ? all : `did you mean ${similar}?`
  const isPrefix = nonEmpty.some((phrase) => phrase.startsWith(`${words[0]} `))
  const typed = isPrefix ? words.slice(0, 2).join(' ') : words[0]
  return usageError(command, `Unrecognized subcommand for mx ${command}: ${typed}, ${hint}`)
}

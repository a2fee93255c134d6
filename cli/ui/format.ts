import { suggest } from '../../lib/text/did-you-mean.ts'
import type { FlagsOf } from '../args/args.ts'
import { CliError, EXIT } from './output.ts'

/** How a command writes what it got: for people, or for programs (reference 15.26). */
export type Format = 'text' | 'json' | 'yaml'

/** Flag of every command that prints a result. */
export const OUTPUT_FLAGS: { readonly '-o, --output <format>': string } = {
  '-o, --output <format>': 'text, json or yaml (default: text)',
}

const FORMATS: readonly Format[] = ['text', 'json', 'yaml']

/** `text` where nothing is said. @throws {CliError} */
export function toFormat({ output }: FlagsOf<typeof OUTPUT_FLAGS>): Format {
  if (output === undefined) return 'text'
  const found = FORMATS.find((format) => format === output)
  if (found !== undefined) return found
  const meant = suggest(output, FORMATS)
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  throw new CliError(`Invalid output: ${output}, must be text, json or yaml${hint}`, {
    status: EXIT.usage,
  })
}

/**
 * A value as a document of its own, with a line feed at its end. JSON has a tab per level (reference 8.3).
 *
 * @param text what people see of it.
 */
export async function formatAs(format: Format, value: unknown, text: string): Promise<string> {
  if (format === 'text') return text
  if (format === 'json') return `${JSON.stringify(value, undefined, '\t')}\n`
  const { stringify } = await import('yaml')
  return stringify(value)
}

/** A value of a stream: JSON in one line, YAML as a document of many. */
export async function formatEach(format: Format, value: unknown): Promise<string> {
  if (format !== 'yaml') return `${JSON.stringify(value)}\n`
  return `---\n${await formatAs(format, value, '')}`
}

/** Writes what a command got to standard output. @param text what people see of it. */
export async function print(format: Format, value: unknown, text: string): Promise<void> {
  process.stdout.write(await formatAs(format, value, text))
}

/** What a command has done: a document where one is wanted, else a short line, where somebody sees it (reference 15.26). */
export async function printDone(format: Format, done: object, text: string): Promise<void> {
  if (format !== 'text' || process.stdout.isTTY) await print(format, done, `${text}\n`)
}

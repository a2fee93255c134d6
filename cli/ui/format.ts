import { suggest } from '../../lib/text/did-you-mean.ts'
import type { FlagsOf } from '../args/args.ts'
import { CliError, EXIT } from './output.ts'

/** Output format of a command (reference 15.26). */
export type Format = 'text' | 'json' | 'yaml'

/** Output flag of every command that prints a result. */
export const OUTPUT_FLAGS: { readonly '-o, --output <format>': string } = {
  '-o, --output <format>': 'text, json or yaml (default: text)',
}

const FORMATS: readonly Format[] = ['text', 'json', 'yaml']

/** @default `text` @throws {CliError} */
export function toFormat({ output }: FlagsOf<typeof OUTPUT_FLAGS>): Format {
  if (output === undefined) return 'text'
  const match = FORMATS.find((format) => format === output)
  if (match !== undefined) return match
  const similar = suggest(output, FORMATS)
  const hint = similar === undefined ? '' : `, did you mean ${similar}?`
  throw new CliError(`Invalid output: ${output}, must be text, json or yaml${hint}`, {
    status: EXIT.usage,
  })
}

/**
 * Formats a value as a single document with a final line feed. JSON is indented with tabs (reference 8.3).
 *
 * @param text the value in the format `text`
 */
export async function formatAs(format: Format, value: unknown, text: string): Promise<string> {
  if (format === 'text') return text
  if (format === 'json') return `${JSON.stringify(value, undefined, '\t')}\n`
  const { stringify } = await import('yaml')
  return stringify(value)
}

/** Formats a value from a stream as JSON on one line, or as a YAML document. */
export async function formatEach(format: Format, value: unknown): Promise<string> {
  if (format !== 'yaml') return `${JSON.stringify(value)}\n`
  return `---\n${await formatAs(format, value, '')}`
}

/** Prints a result to standard output. @param text the value in the format `text` */
export async function print(format: Format, value: unknown, text: string): Promise<void> {
  process.stdout.write(await formatAs(format, value, text))
}

/** Prints the effect of a command as a document if requested, or else as a line on a terminal (reference 15.26). */
export async function printDone(format: Format, done: object, text: string): Promise<void> {
  if (format !== 'text' || process.stdout.isTTY) await print(format, done, `${text}\n`)
}

import { CliError, EXIT } from '../ui/output.ts'

/** A whole number that a flag was given; 0 where it was not. @throws {CliError} */
export function parseCount(text: string | undefined, flag: string): number {
  if (text === undefined) return 0
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CliError(`--${flag} must be a whole number, got ${text}`, { status: EXIT.usage })
}

import { CliError, EXIT } from '../ui/output.ts'

/** Parses a flag that is a whole number. @returns 0 if the flag is missing @throws {CliError} */
export function parseCount(text: string | undefined, flag: string): number {
  if (text === undefined) return 0
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CliError(`--${flag} must be a whole number, got ${text}`, { status: EXIT.usage })
}

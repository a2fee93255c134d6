import { parseDuration } from '../../lib/text/units.ts'
import { CliError, EXIT } from '../ui/output.ts'

/**
 * Parses `--expiry`.
 *
 * @returns seconds, rounded up; `Infinity` for `none`
 *
 * @throws {CliError} naming the valid forms
 */
export function parseExpiry(text: string): number {
  try {
    return Math.ceil(parseDuration(text) / 1000)
  } catch (cause) {
    throw new CliError(`--expiry ${(cause as Error).message}`, { status: EXIT.usage, cause })
  }
}

import { parseDuration } from '../../lib/text/units.ts'
import { CliError, EXIT } from '../ui/output.ts'

/**
 * Parses `--expiry` or another flag with a duration.
 *
 * @returns seconds, rounded up; `Infinity` for `none`
 *
 * @throws {CliError} naming the valid forms
 */
export function parseExpiry(text: string, flag = '--expiry'): number {
  try {
    return Math.ceil(parseDuration(text) / 1000)
  } catch (cause) {
    throw new CliError(`${flag} ${(cause as Error).message}`, { status: EXIT.usage, cause })
  }
}

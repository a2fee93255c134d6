import { parseDuration } from '../../lib/text/units.ts'
import { CliError, EXIT } from '../ui/output.ts'

const EXAMPLE = new Date(0).toISOString().replace('.000', '')

/**
 * Parses a point in time.
 *
 * @param text a duration before now, such as `10m`, or an ISO 8601 time
 * @param flag name for errors
 * @returns Unix time in milliseconds
 * @throws {CliError}
 */
export function parseSince(text: string, flag: string): number {
  const time = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  try {
    const time = Date.now() - parseDuration(text)
    if (time > 0) return time
  } catch {
    // The error below names both forms.
  }
  throw new CliError(`${flag} must be a duration such as 10m or 2h, or a time such as ${EXAMPLE}`, {
    status: EXIT.usage,
  })
}

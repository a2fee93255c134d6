import { parseDuration } from '../../lib/text/units.ts'
import { CliError, EXIT } from '../ui/output.ts'

const EXAMPLE = new Date(0).toISOString().replace('.000', '')

/**
 * A point in time, in milliseconds since 1970.
 *
 * @param text a span before now, such as `10m`, or a time of ISO 8601.
 * @param flag it was given with, for errors.
 * @throws {CliError}
 */
export function parseSince(text: string, flag: string): number {
  const time = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  try {
    const time = Date.now() - parseDuration(text)
    if (time > 0) return time
  } catch {
    // Told below.
  }
  throw new CliError(`${flag} must be a span such as 10m or 2h, or a time such as ${EXAMPLE}`, {
    status: EXIT.usage,
  })
}

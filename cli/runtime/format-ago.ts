import { formatSpan } from '../../lib/text/units.ts'

/**
 * Formats an age, such as `1d0h3m9s ago` or `9s ago` (reference 7.6).
 *
 * @param timeMs Unix time; NaN is formatted as `unknown`
 */
export function formatAgo(timeMs: number, nowMs: number): string {
  if (!Number.isFinite(timeMs)) return 'unknown'
  return `${formatSpan(Math.max(0, Math.round((nowMs - timeMs) / 1000)))} ago`
}

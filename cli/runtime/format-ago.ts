const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const

/**
 * How long ago something was, `1d0h3m9s ago` or `9s ago`: units from the largest there is (reference 7.6).
 *
 * @param thenMs Unix time; not a number: `unknown`.
 */
export function formatAgo(thenMs: number, nowMs: number): string {
  if (!Number.isFinite(thenMs)) return 'unknown'
  let rest = Math.max(0, Math.round((nowMs - thenMs) / 1000))
  let text = ''
  for (const [unit, seconds] of UNITS) {
    const count = Math.floor(rest / seconds)
    rest %= seconds
    if (text !== '' || count > 0 || unit === 's') text += `${count}${unit}`
  }
  return `${text} ago`
}

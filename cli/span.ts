const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const

/** A span of whole seconds, `1d0h3m9s` or `9s`: units from the largest there is (reference 7.6). */
export function formatSpan(seconds: number): string {
  let rest = seconds
  let text = ''
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length)
    rest %= length
    if (text !== '' || count > 0 || unit === 's') text += `${count}${unit}`
  }
  return text
}

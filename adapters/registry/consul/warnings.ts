/** Maximum number of distinct warnings. */
const MAX_WARNINGS = 1000

/**
 * Reports each warning once, and at most a thousand warnings: other programs' catalog entries must
 * not flood the log.
 */
export function createWarnings(onWarning: (message: string) => void): (message: string) => void {
  const seen = new Set<string>()
  return (message) => {
    if (seen.has(message) || seen.size > MAX_WARNINGS) return
    seen.add(message)
    if (seen.size <= MAX_WARNINGS) onWarning(message)
    else onWarning('Consul: further warnings are suppressed')
  }
}

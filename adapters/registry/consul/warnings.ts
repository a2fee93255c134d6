/** Maximum number of remembered warnings. */
const MAX_WARNINGS = 1000

/** Passes each warning on once, and at most a thousand: catalog entries of others must not flood the log. */
export function createWarnings(onWarning: (message: string) => void): (message: string) => void {
  const seen = new Set<string>()
  return (message) => {
    if (seen.has(message) || seen.size > MAX_WARNINGS) return
    seen.add(message)
    if (seen.size <= MAX_WARNINGS) onWarning(message)
    else onWarning('Consul: further warnings are suppressed')
  }
}

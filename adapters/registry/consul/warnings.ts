/** Texts remembered, so that none is told twice. */
const MAX_TOLD = 1000

/** Tells each warning once, and no more than a thousand of them: what others write into the catalog must not fill the log. */
export function createWarnings(onWarning: (message: string) => void): (message: string) => void {
  const told = new Set<string>()
  return (message) => {
    if (told.has(message) || told.size > MAX_TOLD) return
    told.add(message)
    if (told.size <= MAX_TOLD) onWarning(message)
    else onWarning('Consul: further warnings are left out')
  }
}

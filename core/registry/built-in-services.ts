const NAMES: ReadonlySet<string> = new Set([
  'api',
  'auth',
  'broker',
  'config',
  'events',
  'network',
  'registry',
  'runtime',
  'store',
])

/**
 * True for the names of built-in services in any letter case, as rules are case-insensitive: nothing else may register
 * them.
 */
export function isReservedName(name: string): boolean {
  return NAMES.has(name.toLowerCase())
}

/** True for built-in services, which every server provides itself. */
export function isOfPlatform(name: string): boolean {
  return NAMES.has(name)
}

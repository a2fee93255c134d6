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
 * True for the names of built-in services in any letter case, since rules are case-insensitive. Other services must not
 * register them.
 */
export function isReservedName(name: string): boolean {
  return NAMES.has(name.toLowerCase())
}

/** True for built-in services, which every server provides. */
export function isBuiltInService(name: string): boolean {
  return NAMES.has(name)
}

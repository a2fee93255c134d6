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
 * Whether nothing else may have this name: it is that of a service of the platform, in any letter case, as rules do not distinguish
 * letter case.
 */
export function isReservedName(name: string): boolean {
  return NAMES.has(name.toLowerCase())
}

/** Whether a service is one of those a platform consists of. Every server has its own. */
export function isOfPlatform(name: string): boolean {
  return NAMES.has(name)
}

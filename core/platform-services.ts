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

/** Whether a service is one of those a platform consists of. Every server has its own. */
export function isOfPlatform(name: string): boolean {
  return NAMES.has(name)
}

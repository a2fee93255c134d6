import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'

/**
 * Returns the route cache key for a path and the key of the inner resolver. Recent paths yield the same string object.
 */
export type RouteKey = (path: string, inner: string) => string

export function createRouteKey(): RouteKey {
  const recent = new DirectMappedCache<{ readonly inner: string; readonly key: string }>()
  return (path, inner) => {
    const known = recent.get(path)
    if (known !== undefined && known.inner === inner) return known.key
    const key = path === inner ? path : `${path} ${inner}`
    recent.set(path, { inner, key })
    return key
  }
}

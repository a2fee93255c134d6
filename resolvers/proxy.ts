import { isVersionSegment } from '../core/http/path-segments.ts'
import { type RequestLine, type Resolver, toServiceRoute } from '../core/route.ts'
import { DirectMappedCache } from '../lib/collections/direct-mapped-cache.ts'

const SLASH = '/'
const LETTER_V = 118

const keys = new DirectMappedCache<string>()

/**
 * Uses the first path segment as the service name (specification: Proxy resolver). In paths with three or more
 * segments, a leading version segment is part of the name (specification: Versioning).
 *
 * | path | service |
 * |---|---|
 * | `/<a>`, `/<a>/...` | `<ns>.<a>` |
 * | `/v<n>/<a>/<b>...` | `<ns>.v<n>.<a>` |
 */
const proxy: Resolver = {
  name: 'proxy',
  expected: '/<service>[/...]',

  key({ path }: RequestLine) {
    const cached = keys.get(path)
    if (cached !== undefined) return cached
    const key = toKey(path)
    keys.set(path, key)
    return key
  },

  resolve(request) {
    return toServiceRoute(request.namespace, proxy.key(request).slice(1).replace(SLASH, '.'))
  },
}

/** Returns the segments that name the service. */
function toKey(path: string): string {
  const first = path.indexOf(SLASH, 1)
  if (first < 0) return path
  if (path.charCodeAt(1) === LETTER_V && isVersionSegment(path.slice(1, first))) {
    const second = path.indexOf(SLASH, first + 1)
    if (second > 0 && second < path.length - 1) return path.slice(0, second)
  }
  return path.slice(0, first)
}

export default proxy

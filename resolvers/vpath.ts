import { isVersionSegment } from '../core/http/path-segments.ts'
import { type RequestLine, type Resolver, toServiceRoute } from '../core/route.ts'

const SLASH = '/'
const LETTER_V = 118

/**
 * Uses the first path segment as the service name, joined with the second if the first is a version.
 *
 * | path | service |
 * |---|---|
 * | `/<a>`, `/<a>/...` | `<ns>.<a>` |
 * | `/v<n>` | `<ns>.v<n>` |
 * | `/v<n>/<a>`, `/v<n>/<a>/...` | `<ns>.v<n>.<a>` |
 */
const vpath: Resolver = {
  name: 'vpath',
  expected: '/<service>[/...] or /v<n>/<service>[/...]',

  key({ path }: RequestLine) {
    const first = path.indexOf(SLASH, 1)
    if (first < 0) return path
    const versioned = path.charCodeAt(1) === LETTER_V && isVersionSegment(path.slice(1, first))
    if (!versioned || first === path.length - 1) return path.slice(0, first)
    const second = path.indexOf(SLASH, first + 1)
    return second < 0 ? path : path.slice(0, second)
  },

  resolve(request) {
    return toServiceRoute(request.namespace, vpath.key(request).slice(1).replace(SLASH, '.'))
  },
}

export default vpath

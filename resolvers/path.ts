import { type RequestLine, type Resolver, toServiceRoute } from '../core/route.ts'

/** Uses the first path segment as the service name, without version handling. `/` does not resolve. */
const path: Resolver = {
  name: 'path',
  expected: '/<service>[/...]',

  key(request: RequestLine) {
    const end = request.path.indexOf('/', 1)
    return end < 0 ? request.path : request.path.slice(0, end)
  },

  resolve(request) {
    return toServiceRoute(request.namespace, path.key(request).slice(1))
  },
}

export default path

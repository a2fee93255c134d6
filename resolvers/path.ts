import { joinName, type RequestLine, type Resolver } from '../core/route.ts'
import { isServiceName } from '../core/service-name.ts'

/** First path segment as service name, versions or not. `/` has none. */
const path: Resolver = {
  name: 'path',
  expected: '/<service>[/...]',

  key(request: RequestLine) {
    const end = request.path.indexOf('/', 1)
    return end < 0 ? request.path : request.path.slice(0, end)
  },

  resolve(request) {
    const name = path.key(request).slice(1)
    if (!isServiceName(name)) return undefined
    return { service: joinName(request.namespace, name), endpoint: '' }
  },
}

export default path

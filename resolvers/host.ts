import { toHostName } from '../core/http/host/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'

/**
 * Uses `Host` in lower case without port as service name. A name without a dot is prefixed with the namespace.
 */
const hostResolver: Resolver = {
  name: 'host',
  expected: 'a Host that names a service',

  key: (request: RequestLine) => request.host,

  resolve({ host, namespace }) {
    const name = toHostName(host)
    if (!isServiceName(name)) return undefined
    return toRoute(name.includes('.') ? name : joinName(namespace, name), '')
  },
}

export default hostResolver

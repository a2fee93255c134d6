import { toHostName } from '../core/http/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'

/**
 * `Host` without port, in lower case, as service name. A name without a dot lies
 * inside the namespace, one with a dot is whole.
 */
const host: Resolver = {
  name: 'host',
  expected: 'a Host that names a service',

  key: (request: RequestLine) => request.host,

  resolve({ host: given, namespace }) {
    const name = toHostName(given)
    if (!isServiceName(name)) return undefined
    return toRoute(name.includes('.') ? name : joinName(namespace, name), '')
  },
}

export default host

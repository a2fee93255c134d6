import { toHostName } from '../core/http/host/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'

/**
 * Uses `Host` without the port, in lower case, as the service name. Names without a dot are prefixed with the
 * namespace.
 */
const hostResolver: Resolver = {
  name: 'host',
  expected: 'a Host header with a service name',

  key: (request: RequestLine) => request.host,

  resolve({ host, namespace }) {
    const name = toHostName(host)
    if (!isServiceName(name)) return undefined
    return toRoute(name.includes('.') ? name : joinName(namespace, name), '')
  },
}

export default hostResolver

import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'
import { isServiceName } from '../core/service-name.ts'
import { splitPath } from '../core/split-path.ts'

/** A name in a protobuf file. */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/
const MAX_NAME = 253

/**
 * Path of a gRPC call to service and method: `/<package>.<Handler>/<Method>` is service `<ns>.<package>`,
 * method `<Handler>.<Method>`, all as they are written.
 */
const grpc: Resolver = {
  name: 'grpc',
  expected: '/<package>.<Handler>/<Method>',

  key: ({ path }: RequestLine) => path,

  resolve({ path, namespace }) {
    if (path.length > 2 * MAX_NAME) return undefined
    const segments = splitPath(path)
    if (segments?.length !== 2) return undefined
    const [full, method] = segments as [string, string]
    const dot = full.lastIndexOf('.')
    const service = full.slice(0, Math.max(dot, 0))
    const handler = full.slice(dot + 1)
    if (!isServiceName(service) || !IDENTIFIER.test(handler) || !IDENTIFIER.test(method))
      return undefined
    return toRoute(joinName(namespace, service), `${handler}.${method}`)
  },
}

export default grpc

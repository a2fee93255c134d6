import { splitPath } from '../core/http/path-segments.ts'
import type { RequestLine, Resolver } from '../core/route.ts'
import { toGrpcRoute } from '../core/rpc/grpc/path.ts'

const MAX_NAME = 253

/**
 * Maps the path of a gRPC call to a service and a method: `/<package>.<Handler>/<Method>` becomes service
 * `<ns>.<package>` and method `<Handler>.<Method>`, unchanged.
 */
const grpc: Resolver = {
  name: 'grpc',
  expected: '/<package>.<Handler>/<Method>',

  key: ({ path }: RequestLine) => path,

  resolve({ path, namespace }) {
    if (path.length > 2 * MAX_NAME) return undefined
    const segments = splitPath(path)
    if (segments?.length !== 2) return undefined
    return toGrpcRoute(namespace, segments[0]!, segments[1]!)
  },
}

export default grpc

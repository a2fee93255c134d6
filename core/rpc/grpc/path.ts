import { isServiceName } from '../../registry/service-name.ts'
import { joinName, type Route, toRoute } from '../../route.ts'

/** An identifier in a protobuf file. */
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Returns the route for a gRPC path `/<package>.<Handler>/<Method>`: service `<ns>.<package>`, endpoint
 * `<Handler>.<Method>`. Returns undefined for other paths.
 *
 * @param full `<package>.<Handler>`
 */
export function toGrpcRoute(namespace: string, full: string, method: string): Route | undefined {
  const dot = full.lastIndexOf('.')
  const service = full.slice(0, Math.max(dot, 0))
  const handler = full.slice(dot + 1)
  if (!isServiceName(service) || !IDENTIFIER.test(handler) || !IDENTIFIER.test(method))
    return undefined
  return toRoute(joinName(namespace, service), `${handler}.${method}`)
}

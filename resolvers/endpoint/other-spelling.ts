import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { listSpellings } from '../../core/path/canonical.ts'
import type { RequestLine } from '../../core/route.ts'
import { parseRequestPath } from './request-path.ts'
import type { RouteTree, TreeRoute } from './route-tree.ts'

/**
 * Finds the route of a path after a backend has merged its empty segments, removed path parameters or decoded it, even
 * twice. `//` must not bypass the plugins and policies of a route.
 *
 * @param found route of the path as received.
 * @returns `found` if all routes are the same, or if the template of `found` itself has path parameters, such as
 * `/a;v=1`.
 */
export function findOtherSpelling<R extends TreeRoute>(
  tree: RouteTree<R>,
  request: RequestLine,
  found: R | string | undefined,
): R | string | undefined {
  if (typeof found === 'object' && hasParameters(found)) return found
  let result = found
  for (const path of listSpellings(request.path)) {
    const canonical = parseRequestPath(path)
    const other = canonical && tree.find(withPath(request, path), canonical)
    if (other === found) continue
    result = other
    if (typeof other === 'object') break
  }
  return result
}

/** Not a spread, which omits the getters of an exchange: a route with `client` would not match. */
export function withPath(request: RequestLine, path: string): RequestLine {
  const {
    method,
    host,
    namespace,
    query = '',
    headers,
    clientAddress = '',
    relayed = false,
    listener = '',
  } = request
  return {
    method,
    path,
    host,
    namespace,
    query,
    clientAddress,
    relayed,
    listener,
    ...(headers && { headers }),
  }
}

/** Creates the error for a path whose other spelling leads to a different route. */
export function rejectSpelling(kind: 'route' | 'endpoint'): GatewayError {
  const detail = `path must not contain empty segments, path parameters or escapes that lead to another ${kind}`
  return new GatewayError(GATEWAY_ID, 400, detail)
}

function hasParameters({ template }: TreeRoute): boolean {
  return template.segments.some((segment) => segment.includes(';'))
}

import { isVersionSegment, splitPath } from '../core/http/path-segments.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, type Route, toRoute } from '../core/route.ts'
import { toGrpcRoute } from '../core/rpc/grpc/path.ts'

/** Maximum path length; longer paths exceed the limits of a service name and two words. */
const MAX_PATH = 512
const WORD = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/**
 * Maps a path to a service and a method (specification: RPC resolver, Versioning; reference 1.4, 15.8). Service
 * segments are used unchanged. In method segments, each word between dashes is capitalized: `list-services` becomes
 * `ListServices`.
 *
 * | path | service | method |
 * |---|---|---|
 * | `/<a>` | `<ns>.<a>` | `<A>.Call` |
 * | `/<a>/<b>` | `<ns>.<a>` | `<A>.<B>` |
 * | `/<a>.<B>/<C>`, as in gRPC | `<ns>.<a>` | `<B>.<C>`, unchanged |
 * | `/<a>/<b>/<c>` | `<ns>.<a>` | `<B>.<C>` |
 * | `/v<n>/<a>/<b>` | `<ns>.v<n>.<a>` | `<A>.<B>` |
 * | four or more: `/<a>/.../<c>/<d>` | `<ns>` and all but the last two | `<C>.<D>` |
 */
const rpc: Resolver = {
  name: 'rpc',
  expected: '/<service>/<method>',

  key: ({ path }: RequestLine) => path,

  resolve({ path, namespace }) {
    if (path.length > MAX_PATH) return undefined
    const segments = splitPath(path)
    if (segments === undefined) return undefined
    const [first, second, third] = segments
    if (first === undefined) return undefined
    if (second === undefined) return toMethod(namespace, first, first, 'call')
    if (third === undefined)
      return first.includes('.')
        ? toGrpcRoute(namespace, first, second)
        : toMethod(namespace, first, first, second)
    if (segments.length > 3) {
      const service = segments.slice(0, -2).join('.')
      return toMethod(namespace, service, segments.at(-2)!, segments.at(-1)!)
    }
    if (isVersionSegment(first)) return toMethod(namespace, `${first}.${second}`, second, third)
    return toMethod(namespace, first, second, third)
  },
}

function toMethod(
  namespace: string,
  service: string,
  handler: string,
  method: string,
): Route | undefined {
  if (!isServiceName(service) || !WORD.test(handler) || !WORD.test(method)) return undefined
  return toRoute(joinName(namespace, service), `${capitalize(handler)}.${capitalize(method)}`)
}

/** Converts `baz-xyz` to `BazXyz`. Only first letters change. */
function capitalize(word: string): string {
  if (!word.includes('-')) return word[0]!.toUpperCase() + word.slice(1)
  let joined = ''
  for (const piece of word.split('-')) joined += piece.slice(0, 1).toUpperCase() + piece.slice(1)
  return joined
}

export default rpc

import { isVersion, splitPath } from '../core/http/path-segments.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'

/** No longer path names anything: topic and event have their own limits. */
const MAX_PATH = 512

/**
 * Path to topic and event (specification: handler `event`; reference 15.12). As everywhere, a version segment
 * counts from three segments on.
 *
 * | path | topic | event |
 * |---|---|---|
 * | `/<a>` | `<ns>.<a>` | `event` |
 * | `/<a>/<b>` | `<ns>.<a>` | `<b>` |
 * | `/<a>/<b>/<c>...` | `<ns>.<a>` | `<b>.<c>...` |
 * | `/v<n>/<a>/<b>...` | `<ns>.v<n>.<a>` | `<b>...` |
 */
const event: Resolver = {
  name: 'event',
  expected: '/<topic>/<event>',
  names: 'topics',

  key: ({ path }: RequestLine) => path,

  resolve({ path, namespace }) {
    if (path.length > MAX_PATH) return undefined
    const segments = splitPath(path)
    const first = segments?.[0]
    if (segments === undefined || first === undefined) return undefined
    const parts = segments.length > 2 && isVersion(first) ? 2 : 1
    const topic = segments.slice(0, parts).join('.')
    const name = segments.length > parts ? segments.slice(parts).join('.') : 'event'
    // What may name a service may name a topic or an event.
    if (!isServiceName(topic) || !isServiceName(name)) return undefined
    return toRoute(joinName(namespace, topic), name)
  },
}

export default event

import { isVersionSegment, splitPath } from '../core/http/path-segments.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import { joinName, type RequestLine, type Resolver, toRoute } from '../core/route.ts'

/** Maximum path length; longer paths exceed the limits of topic and event names. */
const MAX_PATH = 512

/**
 * Maps a path to a topic and an event (specification: `event` handler; reference 15.12). A version segment requires at
 * least three segments.
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
    const parts = segments.length > 2 && isVersionSegment(first) ? 2 : 1
    const topic = segments.slice(0, parts).join('.')
    const name = segments.length > parts ? segments.slice(parts).join('.') : 'event'
    // Topics and events follow the rules for service names.
    if (!isServiceName(topic) || !isServiceName(name)) return undefined
    return toRoute(joinName(namespace, topic), name)
  },
}

export default event

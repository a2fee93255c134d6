import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { tooLarge } from '../../core/request/incoming-request.ts'
import { Type } from '../../core/schema.ts'
import { parseSize } from '../../lib/text/units.ts'

const options = Type.Object({
  limit: Type.Union([Type.String(), Type.Integer({ minimum: 0 })], {
    default: 'none',
    description: 'Maximum size of a request body, such as 65536, 64kb, 100mb or none.',
  }),
})

/**
 * Rejects request bodies above a limit with 413 (RFC 9110 §15.5.14): immediately by `Content-Length`, or while chunked
 * bodies arrive.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'body-limit',
  description: 'Rejects request bodies above a size limit.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ limit: text }) {
    const limit = parseLimit(text)
    if (limit === Number.POSITIVE_INFINITY) return {}
    const tooLong = tooLarge(limit)
    return {
      onRequest(x) {
        // The policy of an endpoint cannot raise the limit of the gateway.
        x.bodyLimit = Math.min(x.bodyLimit, limit)
        // Part of a chunked body may have arrived while an earlier plugin waited.
        if (x.bodyLength > limit || x.bytesIn > limit) x.fail(tooLong)
      },
    }
  },
})

export default plugin

function parseLimit(text: string | number): number {
  try {
    return parseSize(text)
  } catch (error) {
    throw new RangeError(`limit ${(error as Error).message}`, { cause: error })
  }
}

import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { parseSize } from '../lib/text/units.ts'

const options = Type.Object({
  limit: Type.Union([Type.String(), Type.Integer({ minimum: 0 })], {
    default: 'none',
    description: 'Most bytes of a request body: 65536, 64kb, 100mb, none.',
  }),
})

/** Answers 413 to request bodies longer than a limit (RFC 9110 §15.5.14): announced ones at once, others as they arrive. */
const plugin: PluginDefinition = definePlugin({
  name: 'body-limit',
  description: 'Refuses request bodies longer than a limit.',
  options,
  create(given) {
    const limit = parseLimit(given.limit)
    if (limit === Number.POSITIVE_INFINITY) return {}
    const tooLong = new GatewayError(
      GATEWAY_ID,
      413,
      `request body must not be longer than ${limit} bytes`,
    )
    return {
      onRequest(x) {
        x.bodyLimit = limit
        if (x.bodyLength > limit) x.fail(tooLong)
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

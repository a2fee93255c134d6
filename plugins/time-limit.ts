import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { formatDuration, parseDuration } from '../lib/text/units.ts'

const options = Type.Object({
  limit: Type.Union([Type.String(), Type.Integer({ minimum: 1 })], {
    default: 'none',
    description:
      'Longest time from the head of a request to the end of its reply: 250, 30s, 5m, none.',
  }),
})

/** How often requests are looked at, milliseconds; of short limits more often. */
const LOOK_MS = 500
const LOOKS = 10

/**
 * Ends requests that take longer than a limit, whatever it is that takes its time: with 504 while no reply has begun, else by closing
 * the connection (over HTTP/2: the stream). WebSockets are left alone.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'time-limit',
  description: 'Ends requests that take too long.',
  options,
  create(given) {
    const limitMs = parseLimit(given.limit)
    if (limitMs === Number.POSITIVE_INFINITY) return {}
    // In the order they came, which is the one their time ends in.
    const running = new Set<Exchange>()
    const look = (): void => {
      const oldest = performance.now() - limitMs
      for (const x of running) {
        if (x.startMs > oldest) return
        running.delete(x)
        const detail = `the request took longer than ${formatDuration(limitMs)}`
        x.giveUp(new GatewayError(x.route?.service ?? GATEWAY_ID, 504, detail))
      }
    }
    const timer = setInterval(look, Math.min(LOOK_MS, Math.ceil(limitMs / LOOKS))).unref()
    return {
      onRequest(x) {
        if (!x.upgrade) running.add(x)
      },
      onDone(x) {
        running.delete(x)
      },
      close: () => clearInterval(timer),
    }
  },
})

export default plugin

function parseLimit(text: string | number): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new RangeError(`limit ${(error as Error).message}`, { cause: error })
  }
}

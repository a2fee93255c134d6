import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { formatDuration, parseDuration } from '../../lib/text/units.ts'

const options = Type.Object({
  limit: Type.Union([Type.String(), Type.Integer({ minimum: 1 })], {
    default: 'none',
    description:
      'Maximum time from the request head to the end of the response, such as 250ms, 30s, 5m or none.',
  }),
  header: Type.Boolean({
    default: false,
    description:
      'Send nodes the remaining time in seconds in Request-Timeout, unless the client sent a shorter one.',
  }),
})

/** Maximum interval between checks in milliseconds, and number of checks per limit. */
const CHECK_MS = 500
const CHECKS = 10

/**
 * Ends requests that exceed a time limit: with 504 before the response has started, otherwise by closing the connection
 * (for HTTP/2, the stream). Does not apply to WebSockets.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'time-limit',
  description: 'Ends requests that exceed a time limit.',
  options,
  create({ limit, header }) {
    const limitMs = parseLimit(limit)
    if (limitMs === Number.POSITIVE_INFINITY) return {}
    // In order of arrival, which is also the order of expiry.
    const running = new Set<Exchange>()
    const endExpired = (): void => {
      const oldest = performance.now() - limitMs
      for (const x of running) {
        if (x.startMs > oldest) return
        running.delete(x)
        const detail = `request exceeded the time limit of ${formatDuration(limitMs)}`
        x.abortWith(new GatewayError(x.route?.service ?? GATEWAY_ID, 504, detail))
      }
    }
    const timer = setInterval(endExpired, Math.min(CHECK_MS, Math.ceil(limitMs / CHECKS))).unref()
    return {
      onRequest(x) {
        if (x.upgrade) return
        running.add(x)
        if (header) sendLimit(x, limitMs)
      },
      onDone(x) {
        running.delete(x)
      },
      close: () => clearInterval(timer),
    }
  },
})

export default plugin

/** Sets `Request-Timeout` (draft-thomson-hybi-http-timeout-00) in whole seconds. */
function sendLimit(x: Exchange, limitMs: number): void {
  const remainingMs = limitMs - (performance.now() - x.startMs)
  const seconds = Math.max(1, Math.floor(remainingMs / 1000))
  const requested = x.headers.get('request-timeout')
  const clientSeconds =
    requested !== undefined && /^\d+$/.test(requested) ? Number(requested) : seconds
  x.headers.set('request-timeout', `${Math.min(clientSeconds, seconds)}`)
}

function parseLimit(text: string | number): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new RangeError(`limit ${(error as Error).message}`, { cause: error })
  }
}

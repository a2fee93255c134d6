import type { ReportFault } from '../../core/chain.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { parseDuration, parseSize } from '../../lib/text/units.ts'
import { HttpCache } from './cache/http-cache.ts'

const options = Type.Object({
  max_size: Type.String({
    default: '64mb',
    description:
      'Memory limit of the stored responses per worker; the least recently used ones are evicted. Plugins with equal options share it.',
  }),
  max_object: Type.String({
    default: '1mb',
    description: 'Maximum size of a stored body.',
  }),
  default_ttl: Type.String({
    default: '0s',
    description: 'Lifetime of successful responses without Cache-Control lifetime or Expires.',
  }),
  negative_ttl: Type.Record(Type.String({ pattern: '^[45][0-9]{2}$' }), Type.String(), {
    default: {},
    description: 'Lifetimes of error responses without Cache-Control lifetime, by status.',
  }),
  heuristic: Type.Boolean({
    default: true,
    description:
      'Store responses without lifetime for 10 % of their age according to Last-Modified, at most one day.',
  }),
  stale_while_revalidate: Type.String({
    default: '0s',
    description:
      'Time for which a stale response is sent while it is refreshed in the background, unless the response states it.',
  }),
  stale_if_error: Type.String({
    default: '0s',
    description:
      'Time for which a stale response replaces errors (500, 502, 503, 504, no connection), unless the response states it.',
  }),
  collapse_timeout: Type.String({
    default: '5s',
    description:
      'Maximum time that concurrent requests wait for the first request of the same response; 0s to forward all requests.',
  }),
  client_directives: Type.Boolean({
    default: true,
    description: 'Follow Cache-Control and Pragma of clients, such as no-cache of a reload.',
  }),
  store_cookies: Type.Boolean({
    default: false,
    description: 'Store responses with Set-Cookie even without Cache-Control: public.',
  }),
  cache_status: Type.Boolean({
    default: true,
    description: 'Send Cache-Status (RFC 9211), which states whether the response was stored.',
  }),
})

/**
 * Stores responses in memory and sends them again, as a shared cache (RFC 9111). Runs after all access checks. Responses
 * to authenticated requests are stored only if the backend allows sharing.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'cache',
  description: 'Stores responses and sends them again (RFC 9111).',
  options,
  create(settings, { log, nowMs, caches }) {
    const toMs = (name: keyof typeof settings, text: string): number =>
      parse(name, () => parseDuration(text))
    const toBytes = (name: keyof typeof settings, text: string): number =>
      parse(name, () => parseSize(text))
    const onFault: ReportFault = (error) =>
      log.error({ err: error }, 'refresh of a stored response failed')
    const negativeTtlMs = Object.entries(settings.negative_ttl).map(
      ([status, ttl]): [number, number] => [Number(status), toMs('negative_ttl', ttl)],
    )
    const cacheOptions = {
      maxBytes: toBytes('max_size', settings.max_size),
      maxObjectBytes: toBytes('max_object', settings.max_object),
      collapseTimeoutMs: toMs('collapse_timeout', settings.collapse_timeout),
      followsClients: settings.client_directives,
      sendsStatus: settings.cache_status,
      defaults: {
        ttlMs: toMs('default_ttl', settings.default_ttl),
        negativeTtlMs: new Map(negativeTtlMs),
        isHeuristic: settings.heuristic,
        staleWhileRevalidateMs: toMs('stale_while_revalidate', settings.stale_while_revalidate),
        staleIfErrorMs: toMs('stale_if_error', settings.stale_if_error),
        storesCookies: settings.store_cookies,
      },
      ...{ nowMs, onFault },
    }
    if (cacheOptions.maxObjectBytes > cacheOptions.maxBytes)
      throw new RangeError('max_object must not exceed max_size')
    const create = (): HttpCache => new HttpCache(cacheOptions)
    const { cache, release } = caches?.open(JSON.stringify(settings), create) ?? open(create())
    return {
      onForward: (x) => cache.onForward(x),
      onResponse: (x, length) => cache.onResponse(x, length),
      onError: (x, error) => cache.onError(x, error),
      onDone: (x) => cache.onDone(x),
      close: release,
    }
  },
})

export default plugin

function open(cache: HttpCache): { cache: HttpCache; release: () => void } {
  return { cache, release: () => cache.close() }
}

/** @throws {RangeError} with the name of the option. */
function parse(name: string, read: () => number): number {
  try {
    const value = read()
    if (Number.isFinite(value)) return value
    throw new RangeError('must have a limit')
  } catch (error) {
    throw new RangeError(`${name} ${(error as Error).message}`, { cause: error })
  }
}

import { appendParsed, type HeaderList } from '../../core/http/headers.ts'
import { compileOrigins } from '../../core/http/origin/origins.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  origins: Type.Array(Type.String(), {
    default: ['*'],
    description: 'Allowed origins: https://app.example.com, https://*.example.com, or * for all.',
  }),
  credentials: Type.Boolean({
    default: false,
    description: 'Allow cookies; requires a list of origins.',
  }),
  methods: Type.Array(Type.String(), {
    default: ['POST', 'PATCH', 'GET', 'OPTIONS', 'PUT', 'DELETE'],
    description: 'Allowed methods.',
  }),
  headers: Type.Array(Type.String(), {
    default: [
      'Accept',
      'Content-Type',
      'Content-Length',
      'Accept-Encoding',
      'X-CSRF-Token',
      'Authorization',
      'Mx-Namespace',
      'Connect-Protocol-Version',
      'Connect-Timeout-Ms',
      'Grpc-Timeout',
      'X-Grpc-Web',
      'X-User-Agent',
    ],
    description: 'Allowed request headers.',
  }),
  expose: Type.Array(Type.String(), {
    default: [],
    description: 'Response headers that scripts may read.',
  }),
  maxAgeSeconds: Type.Integer({
    default: 600,
    minimum: 0,
    description: 'Time that browsers cache a preflight response.',
  }),
})

/** Response headers that must agree with the preflight response. */
const REPLACED = ['access-control-allow-origin', 'access-control-allow-credentials'] as const

/**
 * Implements the CORS protocol (WHATWG Fetch).
 *
 * Responds to preflights before authorization. Replaces `Access-Control-Allow-Origin` and `-Allow-Credentials` from the
 * backend, because browsers reject a response that contradicts the preflight. Only listed origins are echoed. `null`
 * never is, since any sandboxed page can send it.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'cors',
  description: 'Responds to CORS preflights and adds CORS response headers.',
  options,
  create({ origins, credentials, methods, headers, expose, maxAgeSeconds }) {
    const any = origins.includes('*')
    if (any && credentials) {
      throw new TypeError(
        'credentials require a list of origins; with "*", any site could act on behalf of its visitors',
      )
    }
    const isAllowed = compileOrigins(origins.filter((origin) => origin !== '*'))
    const exposed = expose.join(', ')
    const preflight: readonly string[] = [
      'access-control-allow-methods',
      methods.join(', '),
      'access-control-allow-headers',
      headers.join(', '),
      'access-control-max-age',
      String(maxAgeSeconds),
    ]
    return {
      onRequest(x) {
        if (x.method !== 'OPTIONS' || !x.headers.has('access-control-request-method')) return
        const origin = x.headers.get('origin')
        if (origin === undefined) return
        x.reply(204, '', any || isAllowed(origin) ? preflight : [])
      },
      onReply(x) {
        const reply = x.replyHeaders
        for (const name of REPLACED) if (reply.has(name)) reply.delete(name)
        if (any) appendParsed(reply, 'access-control-allow-origin', '*')
        else {
          varyByOrigin(reply)
          const origin = x.headers.get('origin')
          if (origin === undefined || !isAllowed(origin)) return
          reply.append('access-control-allow-origin', origin)
          if (credentials) reply.set('access-control-allow-credentials', 'true')
        }
        if (exposed !== '' && !reply.has('access-control-expose-headers')) {
          reply.append('access-control-expose-headers', exposed)
        }
      },
    }
  },
})

export default plugin

/** Adds `Origin` to `Vary`, because caches must not serve the response for one origin to another. */
function varyByOrigin(reply: HeaderList): void {
  for (const value of reply.getAll('vary')) {
    if (value.split(',').some((name) => /^(origin|\*)$/i.test(name.trim()))) return
  }
  appendParsed(reply, 'vary', 'Origin')
}

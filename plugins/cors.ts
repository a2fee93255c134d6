import { appendParsed, type HeaderList } from '../core/http/headers.ts'
import { compileOrigins } from '../core/http/origins.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  origins: Type.Array(Type.String(), {
    default: ['*'],
    description: 'Origins let in: https://app.example.com, https://*.example.com, or * for all.',
  }),
  credentials: Type.Boolean({
    default: false,
    description: 'Whether browsers may send cookies; origins must then be listed.',
  }),
  methods: Type.Array(Type.String(), {
    default: ['POST', 'PATCH', 'GET', 'OPTIONS', 'PUT', 'DELETE'],
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
    description: 'Request headers that scripts may set.',
  }),
  expose: Type.Array(Type.String(), {
    default: [],
    description: 'Reply headers that scripts may read.',
  }),
  maxAgeSeconds: Type.Integer({
    default: 600,
    minimum: 0,
    description: 'How long browsers keep the answer to a preflight.',
  }),
})

/** Response headers that agree with the answer to the preflight. */
const OWNED = ['access-control-allow-origin', 'access-control-allow-credentials'] as const

/**
 * Lets scripts of other origins read replies (WHATWG Fetch, CORS protocol).
 *
 * Preflights are answered here, before any authorization. `Access-Control-Allow-Origin` and `-Allow-Credentials` of the backend
 * are replaced: a browser rejects a response that contradicts the preflight. The origin is never echoed unless it is listed, and `null`, which any sandboxed page can send, is never let in.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'cors',
  description: 'Answers preflights and tells browsers which origins may read replies.',
  options,
  create({ origins, credentials, methods, headers, expose, maxAgeSeconds }) {
    const any = origins.includes('*')
    if (any && credentials) {
      throw new TypeError(
        'credentials need listed origins: with "*" every site could act in the name of its visitors',
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
        for (const name of OWNED) if (reply.has(name)) reply.delete(name)
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

/** Adds `Origin` to `Vary` unless it is there: caches must not give one origin's answer to another. */
function varyByOrigin(reply: HeaderList): void {
  for (const value of reply.getAll('vary')) {
    if (value.split(',').some((name) => /^(origin|\*)$/i.test(name.trim()))) return
  }
  appendParsed(reply, 'vary', 'Origin')
}

import { schemeOf } from '../../core/http/scheme.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  port: Type.Integer({
    default: 443,
    minimum: 1,
    maximum: 65535,
    description: 'HTTPS port in the redirect URL.',
  }),
  listeners: Type.Array(Type.String(), {
    default: [],
    description: 'Names of the listeners that redirect; all if empty.',
  }),
})

/** Path of ACME server requests, which start without TLS (RFC 8555 §8.3). */
const ACME_CHALLENGES = '/.well-known/acme-challenge/'

/**
 * Redirects requests without TLS to the same URL with `https` (308, RFC 9110 §15.4.9), except ACME challenges. Behind a
 * TLS proxy, the scheme used by the client counts.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'redirect-https',
  description: 'Redirects HTTP requests to HTTPS.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ port, listeners }) {
    const suffix = port === 443 ? '' : `:${port}`
    return {
      onRequest(x) {
        if (schemeOf(x) === 'https' || x.path.startsWith(ACME_CHALLENGES)) return
        if (listeners.length > 0 && !listeners.includes(x.listener)) return
        x.reply(308, '', ['location', `https://${x.host.replace(/:\d+$/, '')}${suffix}${x.target}`])
      },
    }
  },
})

export default plugin

import { schemeOf } from '../core/http/scheme.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  port: Type.Integer({
    default: 443,
    minimum: 1,
    maximum: 65535,
    description: 'Port of HTTPS in the URL.',
  }),
})

/** Redirects requests without TLS to the same URL with `https` (308, RFC 9110 §15.4.9). Behind a TLS proxy, its scheme counts. */
const plugin: PluginDefinition = definePlugin({
  name: 'redirect-https',
  description: 'Redirects HTTP requests to HTTPS.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ port }) {
    const suffix = port === 443 ? '' : `:${port}`
    return {
      onRequest(x) {
        if (schemeOf(x) === 'https') return
        x.reply(308, '', ['location', `https://${x.host.replace(/:\d+$/, '')}${suffix}${x.target}`])
      },
    }
  },
})

export default plugin

import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { compileHosts } from '../../core/http/host/served-hosts.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { quote } from '../../core/request/bad-request.ts'
import { Type } from '../../core/schema.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    default: [],
    description:
      'Allowed host names in addition to localhost and IP addresses: app.example.com, or *.example.com for all subdomains.',
  }),
})

/**
 * Rejects requests with 403 for hosts that are neither local nor listed ({@link compileHosts}), which prevents DNS
 * rebinding.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'hosts',
  description: 'Rejects requests for host names that are not listed.',
  scopes: ['gateway'],
  options,
  create({ allow }) {
    const isAllowed = compileHosts(allow)
    // Consecutive requests are usually for the same host.
    let last = ''
    return {
      onRequest({ host }) {
        if (host === last) return
        if (!isAllowed(host)) {
          const detail = `host ${quote(host)} is not allowed; add it to --hosts`
          throw new GatewayError(GATEWAY_ID, 403, detail)
        }
        last = host
      },
    }
  },
})

export default plugin

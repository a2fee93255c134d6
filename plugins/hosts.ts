import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { compileHosts } from '../core/http/served-hosts.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { quote } from '../core/request/bad-request.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    default: [],
    description:
      'Names besides localhost and IP addresses: app.example.com, or *.example.com for every name below.',
  }),
})

/** Refuses with 403 what is for another host: neither this machine as such nor listed ({@link compileHosts}). */
const plugin: PluginDefinition = definePlugin({
  name: 'hosts',
  description: 'Refuses requests for names that are not listed.',
  options,
  create({ allow }) {
    const isAllowed = compileHosts(allow)
    // One request is mostly for the host of the next.
    let last = ''
    return {
      onRequest({ host }) {
        if (host === last) return
        if (!isAllowed(host)) {
          const detail = `host ${quote(host)} is not served here; --hosts lists the names that are`
          throw new GatewayError(GATEWAY_ID, 403, detail)
        }
        last = host
      },
    }
  },
})

export default plugin

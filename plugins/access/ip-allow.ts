import { GATEWAY_ID, GatewayError } from '../../core/errors.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { quote } from '../../core/request/bad-request.ts'
import { Type } from '../../core/schema.ts'
import { createCidrSet } from '../../lib/net/cidr-set.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    minItems: 1,
    description:
      'Networks of allowed clients, such as 10.0.0.0/8, 192.0.2.7, private, loopback or unix.',
  }),
})

/**
 * Rejects clients outside the allowed networks with 403. The client is the peer of the connection, or the client
 * reported by a trusted proxy, so the plugin must be listed after `forwarded`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'ip-allow',
  description: 'Only allows listed client addresses.',
  options,
  scopes: ['gateway', 'service', 'route', 'consumer', 'endpoint'],
  create({ allow }) {
    const allowed = createCidrSet(allow, 'allow')
    return {
      onRequest({ clientAddress, relayed }) {
        // A relayed request has the address of the proxy.
        if (!relayed && allowed.lookup(clientAddress).inside) return
        const client = relayed
          ? 'an unknown client behind a proxy'
          : `client ${quote(clientAddress)}`
        throw new GatewayError(GATEWAY_ID, 403, `${client} is not allowed`)
      },
    }
  },
})

export default plugin

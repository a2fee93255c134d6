import { appendParsed } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { createCidrSet } from '../../lib/net/cidr-set.ts'
import { formatMs } from '../../lib/text/units.ts'

const options = Type.Object({
  clients: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Address ranges of clients that receive the header, such as 10.0.0.0/8, loopback or private.',
    }),
  ),
})

/**
 * Adds `Server-Timing: gateway;dur=0.214, upstream;dur=12.400` in milliseconds (W3C Server Timing). `upstream` ends
 * with the head of the backend response and is absent without one.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'server-timing',
  description: 'Reports gateway and backend time in the Server-Timing header.',
  options,
  create({ clients }) {
    const allowed = clients && createCidrSet(clients, 'clients')
    return {
      onReply(x) {
        if (allowed !== undefined && !allowed.lookup(x.clientAddress).inside) return
        const upstreamMs = x.upstreamReplyMs > 0 ? x.upstreamReplyMs - x.upstreamStartMs : 0
        let timing = `gateway;dur=${formatMs(x.elapsedMs - upstreamMs)}`
        if (upstreamMs > 0) timing += `, upstream;dur=${formatMs(upstreamMs)}`
        appendParsed(x.replyHeaders, 'server-timing', timing)
      },
    }
  },
})

export default plugin

import type { Exchange } from '../core/exchange.ts'
import { appendParsed } from '../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { findProxyError } from './proxy-status/proxy-error.ts'

const options = Type.Object({
  name: Type.String({
    default: 'mx',
    pattern: "^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]{0,127}$",
    description: 'What the gateway calls itself: a token.',
  }),
  nextHop: Type.Boolean({
    default: false,
    description: 'Whether the node a request went to is told, which shows inner addresses.',
  }),
})

/**
 * Tells clients why the gateway answered itself, where a service should have: `Proxy-Status: mx; error=connection_refused`
 * (RFC 9209), behind what proxies nearer to the service said. Answers of services have none, unless `nextHop` tells the node.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'proxy-status',
  description: 'Tells clients in Proxy-Status why the gateway answered itself.',
  options,
  create({ name, nextHop }) {
    return {
      onReply(x) {
        const error = findProxyError(x)
        const hop = nextHop ? findHop(x) : undefined
        if (error === undefined && hop === undefined) return
        let status = name
        if (error !== undefined) status += `; error=${error}`
        if (hop !== undefined) status += `; next-hop=${quote(hop)}`
        appendParsed(x.replyHeaders, 'proxy-status', status)
      },
    }
  },
})

export default plugin

/** `host:port` of the node it was sent to last. */
function findHop({ node, upstream }: Exchange): string | undefined {
  const found = node === '' ? undefined : upstream?.nodes.find(({ id }) => id === node)
  if (found === undefined) return undefined
  const { host, port } = found
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** A string of structured fields (RFC 9651 §3.3.3): what it cannot say is left out. */
function quote(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]/g, '')
  return `"${ascii.replace(/[\\"]/g, '\\$&')}"`
}

import type { Exchange } from '../../core/exchange.ts'
import { appendParsed } from '../../core/http/headers.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { findProxyError } from './proxy-status/proxy-error.ts'

const options = Type.Object({
  name: Type.String({
    default: 'mx',
    pattern: "^[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]{0,127}$",
    description: 'Name of the gateway, which must be a token.',
  }),
  nextHop: Type.Boolean({
    default: false,
    description: 'Include the node that received the request; exposes internal addresses.',
  }),
})

/**
 * Adds `Proxy-Status: mx; error=connection_refused` (RFC 9209) to error responses from the gateway, after the elements
 * of proxies nearer to the service. Service responses only get an element with `nextHop`.
 */
const plugin: PluginDefinition = definePlugin({
  name: 'proxy-status',
  description: 'Reports the reason for gateway errors in Proxy-Status.',
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

/** Returns the `host:port` of the last node tried. */
function findHop({ node, upstream }: Exchange): string | undefined {
  const found = node === '' ? undefined : upstream?.nodes.find(({ id }) => id === node)
  if (found === undefined) return undefined
  const { host, port } = found
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Formats a structured-field string (RFC 9651 §3.3.3) and drops characters that it cannot represent. */
function quote(text: string): string {
  const ascii = text.replace(/[^\x20-\x7e]/g, '')
  return `"${ascii.replace(/[\\"]/g, '\\$&')}"`
}

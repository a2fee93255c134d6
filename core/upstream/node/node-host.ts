import { isIPv6 } from 'node:net'
import type { Exchange } from '../../exchange.ts'
import type { NodeSettings } from './parse-node.ts'

/** `Host` for the nodes of a service: each node's own host (`backend`), or a constant. */
export type NodeHost = 'backend' | { readonly name: string }

/** Returns `Host` for requests to a node. Omits the default port, as clients do (RFC 9110 §7.2). */
export function toHostHeader(
  setting: NodeHost,
  { host, port, secure }: Pick<NodeSettings, 'host' | 'port' | 'secure'>,
): string {
  if (setting !== 'backend') return setting.name
  const name = isIPv6(host) ? `[${host}]` : host
  return port === (secure ? 443 : 80) ? name : `${name}:${port}`
}

/** True if requests use the `Host` of their node. A host set by a plugin takes precedence. */
export function setsHost({ upstream, headers }: Exchange): boolean {
  return upstream?.host !== undefined && headers.get('host') === undefined
}

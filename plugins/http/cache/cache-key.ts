import type { Exchange } from '../../../core/exchange.ts'

/** URI of a stored response, for purges. */
export interface CacheTarget {
  readonly namespace: string
  readonly service: string
  /** `https://example.org`, in lower case. */
  readonly origin: string
  /** As requested by the client, without query. */
  readonly path: string
}

/**
 * Primary key of a request (RFC 9111 §2). It contains everything on which the gateway bases the response, so that
 * namespaces, routes and plugin lists never share responses. The path is not decoded, because backends differ in how
 * they decode paths.
 */
export function toCacheKey(x: Exchange): string {
  return toKeyOf(x, x.originalTarget, x.target)
}

/**
 * Returns the key of another URI of the same origin, which would be routed like this request.
 *
 * @param target path and query.
 */
export function toSiblingKey(x: Exchange, target: string): string {
  return toKeyOf(x, target, target)
}

export function toCacheTarget(x: Exchange): CacheTarget {
  const { originalTarget } = x
  const cut = originalTarget.indexOf('?')
  return {
    namespace: x.namespace,
    service: x.route?.service ?? '',
    origin: toOrigin(x),
    path: cut === -1 ? originalTarget : originalTarget.slice(0, cut),
  }
}

export function toOrigin({ secure, host }: Exchange): string {
  return `${secure ? 'https' : 'http'}://${host.toLowerCase()}`
}

/** No part contains a line break. The forwarded target is part of the key, because a rewrite may depend on headers. */
function toKeyOf(x: Exchange, uri: string, forwarded: string): string {
  const { route } = x
  const rewritten = forwarded === uri ? '' : forwarded
  return `${x.namespace}\n${x.chain.variant}\n${route?.rule?.name ?? ''}\n${route?.service ?? ''}\n${toOrigin(x)}${uri}\n${rewritten}`
}

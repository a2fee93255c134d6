import type { Exchange } from '../../../core/exchange.ts'

/** URI of a stored response, for purges. */
export interface CacheTarget {
  readonly namespace: string
  readonly service: string
  /** `https://example.org`, in lower case. */
  readonly origin: string
  /** As requested by the client, without query. */
  readonly path: string
  /** See {@link toUriKey}. */
  readonly uriKey: string
}

/**
 * Primary key of a request (RFC 9111 §2). It contains everything on which the gateway bases the response, so that
 * namespaces, routes and plugin lists never share responses. The path is not decoded, because backends differ in how
 * they decode paths. No part contains a line break.
 */
export function toCacheKey(x: Exchange): string {
  const { route, originalTarget: uri, target } = x
  // A rewrite may depend on headers.
  const rewritten = target === uri ? '' : target
  return `${x.namespace}\n${x.chain.variant}\n${route?.rule?.name ?? ''}\n${route?.service ?? ''}\n${toOrigin(x)}${uri}\n${rewritten}`
}

/**
 * Identifies a URI across routes and methods, for its invalidation.
 *
 * @param target path and query.
 */
export function toUriKey(x: Exchange, target: string): string {
  return `${x.namespace}\n${toOrigin(x)}${target}`
}

export function toCacheTarget(x: Exchange): CacheTarget {
  const { originalTarget } = x
  const cut = originalTarget.indexOf('?')
  return {
    namespace: x.namespace,
    service: x.route?.service ?? '',
    origin: toOrigin(x),
    path: cut === -1 ? originalTarget : originalTarget.slice(0, cut),
    uriKey: toUriKey(x, originalTarget),
  }
}

export function toOrigin({ secure, host }: Exchange): string {
  return `${secure ? 'https' : 'http'}://${host.toLowerCase()}`
}

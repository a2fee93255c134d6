import { toHostName } from '../core/http/host/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import type { RequestLine, Resolver, ResolverOptions } from '../core/route.ts'

/** Ending of IPv4 addresses. No domain has such an ending (RFC 3696 §2). */
const ENDS_IN_NUMBER = /(?:^|\.)\d+$/

/**
 * Derives the namespace from the host and delegates to the inner resolver (reference 1.6). The namespace consists of
 * the labels before the base domain, reversed and joined by dashes. The base domain itself, `api` before it, addresses
 * and other hosts do not change the namespace.
 *
 * | host, base domain `example.com` | namespace |
 * |---|---|
 * | `shop.example.com` | `shop` |
 * | `staging.shop.example.com` | `shop-staging` |
 * | `api.example.com`, `example.com`, `127.0.0.1`, `localhost` | unchanged |
 *
 * The base domain is a setting, because deriving it from a host would require the public suffix list.
 *
 * @throws {RangeError} if the base domain is missing or invalid.
 */
export default function createSubdomain({ inner, domain }: ResolverOptions): Resolver {
  if (!isBaseDomain(domain)) {
    throw new RangeError(
      `the base domain must be a name such as example.com, got ${JSON.stringify(domain)}`,
    )
  }
  const suffix = `.${domain.toLowerCase()}`

  /** Returns the namespace of a host, or undefined if the host does not change the namespace. */
  function readNamespace(received: string): string | undefined {
    const host = toHostName(received)
    if (!host.endsWith(suffix)) return undefined
    const labels = host.slice(0, -suffix.length)
    return labels === 'api' ? undefined : labels.split('.').reverse().join('-')
  }

  return {
    name: 'subdomain',
    expected: inner.expected,
    names: inner.names ?? 'services',
    ready: inner.ready,

    get generation() {
      return inner.generation ?? 0
    },

    key(request: RequestLine) {
      const namespace = readNamespace(request.host)
      const key = inner.key(request)
      return namespace === undefined ? key : `${namespace} ${key}`
    },

    resolve(request) {
      const namespace = readNamespace(request.host)
      if (namespace === undefined) return inner.resolve(request)
      if (!isServiceName(namespace)) return undefined
      const { method, path, host } = request
      return inner.resolve({ method, path, host, namespace })
    },

    close: () => inner.close?.(),
  }
}

/** Whether a text is a domain name and not an address. */
export function isBaseDomain(text: string): boolean {
  return isServiceName(text) && !ENDS_IN_NUMBER.test(text)
}

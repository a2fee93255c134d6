import { toHostName } from '../core/http/host-name.ts'
import { isServiceName } from '../core/registry/service-name.ts'
import type { RequestLine, Resolver, ResolverOptions } from '../core/route.ts'

/** The last part of an IPv4 address, but of no domain (RFC 3696 §2). */
const ENDS_IN_NUMBER = /(?:^|\.)\d+$/

/**
 * Takes the namespace from the host and leaves the rest to another resolver (reference 1.6): the labels
 * in front of the base domain, reversed and joined by dashes. A host that is the base domain itself, `api` in
 * front of it, an address, or outside of it leaves the namespace as it is.
 *
 * | host, base domain `example.com` | namespace |
 * |---|---|
 * | `shop.example.com` | `shop` |
 * | `staging.shop.example.com` | `shop-staging` |
 * | `api.example.com`, `example.com`, `127.0.0.1`, `localhost` | unchanged |
 *
 * Which part of a host one may register names under, only a long list of public suffixes tells:
 * the base domain is said instead.
 *
 * @throws {RangeError} when there is no base domain, or it is no name.
 */
export default function createSubdomain({ inner, domain }: ResolverOptions): Resolver {
  if (!isBaseDomain(domain)) {
    throw new RangeError(
      `the base domain must be a name such as example.com, got ${JSON.stringify(domain)}`,
    )
  }
  const suffix = `.${domain.toLowerCase()}`

  /** Undefined: it stays as it is. */
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

/** Whether hosts can lie under it: a name, and no address. */
export function isBaseDomain(text: string): boolean {
  return isServiceName(text) && !ENDS_IN_NUMBER.test(text)
}

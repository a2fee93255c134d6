import type { EgressPolicy } from '../../../core/egress/egress-policy.ts'
import type { GatewayError } from '../../../core/errors.ts'

/** Part of the outgoing address policy that applies to repositories. */
export type RepositoryPolicy = Pick<EgressPolicy, 'resolveRepository'>

const ID = 'runtime'
const DEFAULT_PORT = 443

/**
 * Resolves the host of a repository and checks its addresses. Returns `host:port:addresses` in the
 * format of `http.curloptResolve`, so that git connects to the checked addresses. Returns undefined
 * for a host that only a proxy can resolve.
 *
 * @throws {GatewayError} same errors as {@link EgressPolicy.resolveRepository}, as a rejection.
 */
export async function pinHost(url: string, policy: RepositoryPolicy): Promise<string | undefined> {
  const { hostname, port: text } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isProxied = ['https_proxy', 'HTTPS_PROXY'].some((name) => process.env[name])
  const port = text === '' ? DEFAULT_PORT : Number(text)
  const resolved = await policy
    .resolveRepository({ host, port }, ID)
    .catch((error: GatewayError) => {
      if (error.code === 403 || !isProxied) throw error
      return undefined
    })
  if (resolved === undefined) return undefined
  const addresses = resolved.map((address) => (address.includes(':') ? `[${address}]` : address))
  return `${host}:${port}:${addresses.join(',')}`
}

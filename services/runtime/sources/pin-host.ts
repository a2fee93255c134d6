import { lookup } from 'node:dns/promises'
import { createAddressSet } from '../../../core/address-set.ts'
import { badGateway, badRequest } from '../../../sdk/errors.ts'

const ID = 'runtime'
/** Addresses of the server itself and of its own network segment alone: also where clouds tell secrets. */
const ITS_OWN = createAddressSet(
  ['loopback', '0.0.0.0/8', '::/128', '169.254.0.0/16', 'fe80::/10'],
  'addresses of the server itself',
)
const DEFAULT_PORT = '443'

/**
 * Looks up the host of a repository, so that nobody has the server fetch from itself. Returns what git is told, so that it asks
 * the very address that was checked: `host:port:address`; undefined where a proxy does the looking up.
 *
 * @throws {ServiceError} 400 when it is an address of the server's own, 502 when there is no such host.
 */
export async function pinHost(url: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isProxied = ['https_proxy', 'HTTPS_PROXY'].some((name) => process.env[name])
  if (isProxied && !isOwn(host)) return undefined
  const found = await lookup(host, { all: true }).catch((error: unknown) => {
    throw badGateway(ID, `cannot reach the repository ${url}\nthere is no host ${host}`, {
      cause: error,
    })
  })
  const own = found.find(({ address }) => isOwn(address))
  if (own !== undefined)
    throw badRequest(ID, `${url} leads to the server itself, at ${own.address}: it is not fetched`)
  const addresses = found.map(({ address }) => (address.includes(':') ? `[${address}]` : address))
  return `${host}:${port || DEFAULT_PORT}:${addresses.join(',')}`
}

function isOwn(address: string): boolean {
  return ITS_OWN.look(address).inside
}

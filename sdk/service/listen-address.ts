import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { findWildcardHost, isWildcardHost } from '../../core/http/host/wildcard-host.ts'

/** Listen address of a service. */
export interface ListenAddress {
  readonly host: string
  /** Port; 0 for any free port. */
  readonly port: number
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/

/**
 * Parses `host:port`, `[IPv6]:port`, or `:port` for all interfaces, IPv4 and IPv6.
 *
 * @throws {TypeError} for any other text.
 */
export function parseListenAddress(text: string): ListenAddress {
  const [, ipv6, host = '', digits] = HOST_PORT.exec(text) ?? []
  const port = Number(digits ?? -1)
  const isHost = ipv6 === undefined || isIP(ipv6) === 6
  if (port >= 0 && port <= 65_535 && isHost)
    return { host: ipv6 ?? (host || findWildcardHost()), port }
  throw new TypeError(
    `address must be host:port, [IPv6]:port or :port, got ${JSON.stringify(text)}`,
  )
}

/**
 * Listen address of a service: its option, else `MX_SERVICE_ADDRESS`, else a free port on loopback.
 *
 * @throws {TypeError} for an invalid option.
 * @throws {Error} for an invalid variable, which is not a programming error.
 */
export function readListenAddress(configured: string | undefined): ListenAddress {
  if (configured !== undefined) return parseListenAddress(configured)
  try {
    return parseListenAddress(process.env['MX_SERVICE_ADDRESS'] || '127.0.0.1:0')
  } catch (cause) {
    throw new Error(`MX_SERVICE_ADDRESS: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Address to register for a listener. If it listens on all interfaces, an address that other machines can reach,
 * preferably IPv4; else loopback.
 *
 * @param interfaces @default interfaces of the machine
 */
export function toReachable(
  { host, port }: ListenAddress,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string {
  const reachable = isWildcardHost(host) ? findOwnAddress(host === '::', interfaces) : host
  return isIPv6(reachable) ? `[${reachable}]:${port}` : `${reachable}:${port}`
}

function findOwnAddress(
  hasIPv6: boolean,
  interfaces: ReturnType<typeof networkInterfaces>,
): string {
  const addresses = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    // A link-local address requires a zone (RFC 4007), which registry addresses cannot contain.
    .filter(({ family, address }) => family === 'IPv4' || (hasIPv6 && !address.startsWith('fe80:')))
    .sort((a, b) => a.family.localeCompare(b.family))
  const preferred = addresses.find(({ internal }) => !internal) ?? addresses[0]
  return preferred?.address ?? '127.0.0.1'
}

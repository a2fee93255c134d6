import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { findWildcardHost, isWildcardHost } from '../../core/http/wildcard-host.ts'

/** Where a service listens. */
export interface ListenAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/

/**
 * `host:port`, `[IPv6]:port`, or `:port` for all interfaces, IPv4 and IPv6.
 *
 * @throws {TypeError} when it is none of them.
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
 * Where a service listens: as it was told, else as `MX_SERVICE_ADDRESS` says, else on loopback, at a free port.
 *
 * @throws {TypeError} when what it was told is no address.
 * @throws {Error} when what the variable says is none: not the program is wrong then.
 */
export function readListenAddress(given: string | undefined): ListenAddress {
  if (given !== undefined) return parseListenAddress(given)
  try {
    return parseListenAddress(process.env['MX_SERVICE_ADDRESS'] || '127.0.0.1:0')
  } catch (cause) {
    throw new Error(`MX_SERVICE_ADDRESS: ${(cause as Error).message}`, { cause })
  }
}

/**
 * The address that registries advertise for a listener. A listener on all interfaces is advertised at an address that other
 * machines reach, IPv4 first because every caller has it; without one, on loopback.
 *
 * @param interfaces @default those of the machine
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
    // A link-local address needs a zone (RFC 4007), which an address of a registry does not have.
    .filter(({ family, address }) => family === 'IPv4' || (hasIPv6 && !address.startsWith('fe80:')))
    .sort((a, b) => a.family.localeCompare(b.family))
  const found = addresses.find(({ internal }) => !internal) ?? addresses[0]
  return found?.address ?? '127.0.0.1'
}

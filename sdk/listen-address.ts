import { isIP, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** Where a service listens. */
export interface ListenAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]*)):(\d{1,5})$/
const ALL = new Set(['0.0.0.0', '::'])

/**
 * `host:port`, `[IPv6]:port`, or `:port` for all interfaces.
 *
 * @throws {TypeError} when it is none of them.
 */
export function parseListenAddress(text: string): ListenAddress {
  const [, ipv6, host = '', digits] = HOST_PORT.exec(text) ?? []
  const port = Number(digits ?? -1)
  const isHost = ipv6 === undefined || isIP(ipv6) === 6
  if (port >= 0 && port <= 65_535 && isHost) return { host: ipv6 ?? (host || '0.0.0.0'), port }
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
 * The address others reach a listener at, as registries keep it. Of all interfaces it is the first of the same family that
 * leads out of this machine, else the loopback one.
 */
export function toReachable({ host, port }: ListenAddress): string {
  const reachable = ALL.has(host) ? findOwnAddress(host) : host
  return isIPv6(reachable) ? `[${reachable}]:${port}` : `${reachable}:${port}`
}

function findOwnAddress(all: string): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  // Of `::`, too: most often it takes IPv4 as well, and every caller has that.
  const own = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)
  return own?.address ?? (all === '::' ? '::1' : '127.0.0.1')
}

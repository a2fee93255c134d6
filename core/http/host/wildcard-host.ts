import { networkInterfaces } from 'node:os'

type Interfaces = ReturnType<typeof networkInterfaces>

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/**
 * Returns the host to bind for all interfaces: `::`, which also accepts IPv4 (RFC 3493 §3.7), or `0.0.0.0` on a machine
 * without IPv6, where binding `::` may fail.
 *
 * @param interfaces @default interfaces of this machine
 */
export function findWildcardHost(interfaces: Interfaces = networkInterfaces()): string {
  const addresses = Object.values(interfaces).flatMap((list) => list ?? [])
  return addresses.some(({ family }) => family === 'IPv6') ? '::' : '0.0.0.0'
}

/** Whether a listener bound to this host accepts connections on every interface. */
export function isWildcardHost(host: string): boolean {
  return WILDCARDS.has(host)
}

import { parseIpAddress } from '../../lib/net/cidr-set.ts'
import { classify } from '../egress/allow-list.ts'

/** All loopback addresses count as one client, since a local program can connect from any address in 127.0.0.0/8. */
export const LOOPBACK_NETWORK = 'loopback'

/**
 * Returns the network that per-client limits count as one client. A client can choose any address in its IPv6 /64
 * (RFC 4291 §2.5.1).
 */
export function toNetwork(address: string): string {
  if (classify(address)?.kind === 'loopback') return LOOPBACK_NETWORK
  if (!address.includes(':')) return address
  const parsed = parseIpAddress(address)
  return parsed !== undefined && 'parts' in parsed ? parsed.parts.slice(0, 4).join(':') : address
}

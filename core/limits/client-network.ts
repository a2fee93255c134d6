import { parseAddress } from '../../lib/net/cidr-set.ts'
import { classify } from '../egress/allow-list.ts'

/** All loopback addresses: every program of the machine can connect from each of 127.0.0.0/8. */
export const LOOPBACK_NETWORK = 'loopback'

/** The addresses that a client can choose freely among, which limits for each client count as one: of IPv6 a whole /64 (RFC 4291 §2.5.1). */
export function toNetwork(address: string): string {
  if (classify(address)?.kind === 'loopback') return LOOPBACK_NETWORK
  if (!address.includes(':')) return address
  const parsed = parseAddress(address)
  return parsed !== undefined && 'parts' in parsed ? parsed.parts.slice(0, 4).join(':') : address
}

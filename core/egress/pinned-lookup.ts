import { isIPv6, type LookupFunction } from 'node:net'

/**
 * A `lookup` for `net.connect` and what builds on it that answers with addresses that were checked before, whatever the DNS
 * says by now. The name stays that of the TLS certificate.
 *
 * @param addresses IP addresses, at least one.
 */
export function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
  return (_host, options, callback) => {
    if (options.all === true) callback(null, all)
    else callback(null, all[0]!.address, all[0]!.family)
  }
}

import { isIPv6, type LookupFunction } from 'node:net'

/**
 * Creates a `lookup` for `net.connect` that returns previously checked addresses, which prevents DNS rebinding. TLS
 * still verifies the host name.
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

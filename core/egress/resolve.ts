import { lookup } from 'node:dns/promises'
import { GatewayError } from '../errors.ts'
import { findConnectFault } from '../upstream/connect-error.ts'
import { type ClassifiedAddress, classify } from './allow-list.ts'

/** Resolves a host name to its IP addresses. Rejects with an error of Node.js. */
export type ResolveHost = (host: string) => Promise<readonly string[]>

/** Resolves with the hosts file and DNS of the system. */
export async function resolveBySystem(host: string): Promise<readonly string[]> {
  const results = await lookup(host, { all: true })
  return results.map(({ address }) => address)
}

/**
 * Returns the addresses of a host name, or an IP address itself.
 *
 * @param id of the error.
 * @throws {GatewayError} 400 when the name has no address, 503 while it cannot be resolved.
 */
export async function resolveAddresses(
  host: string,
  resolve: ResolveHost,
  id: string,
): Promise<readonly ClassifiedAddress[]> {
  const literal = classify(host)
  if (literal !== undefined) return [literal]
  const texts = await resolve(host).catch((cause: Error) => {
    const code = findConnectFault(cause.message) === 'name' ? 400 : 503
    throw new GatewayError(id, code, `cannot resolve the host ${host}: ${cause.message}`, { cause })
  })
  const addresses = texts.flatMap((text) => classify(text) ?? [])
  if (addresses.length === 0 || addresses.length < texts.length)
    throw new GatewayError(id, 400, `the host ${host} has no usable IP address`)
  return addresses
}

import { lookup } from 'node:dns/promises'
import { GatewayError } from '../errors.ts'
import { findConnectFault } from '../upstream/connect-error.ts'
import { type ClassifiedAddress, classify } from './allow-list.ts'

/** Resolves a host name to its IP addresses. Rejects with an error from Node.js. */
export type ResolveHost = (host: string) => Promise<readonly string[]>

/** Resolves with the system's hosts file and DNS. */
export async function resolveBySystem(host: string): Promise<readonly string[]> {
  const results = await lookup(host, { all: true })
  return results.map(({ address }) => address)
}

/**
 * Returns the addresses of a host name. An IP address is returned unchanged.
 *
 * @param id error id.
 * @throws {GatewayError} 400 if the name has no address, 503 if it cannot be resolved.
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

import { GatewayError } from '../errors.ts'

/** Id of errors from the proxy itself. */
export const PROXY_ID = 'go.mx.proxy'
/** Metadata name for the number of proxies that a call has passed (docs/protocol.md §4). */
export const HOPS = 'mx-hops'
export const HOPS_MAX = 16

const START = `${HOPS}:`
const COUNT = /^[\t ]*([0-9]{1,4})[\t ]*$/

/**
 * Increments the hop count in a metadata block. The rest stays unchanged, even if malformed.
 *
 * @throws {GatewayError} 508 if the call has passed too many proxies, 400 if the count is malformed.
 */
export function addHop(metadata: string): string {
  let at = 0
  if (!metadata.startsWith(START)) {
    at = metadata.indexOf(`\r\n${START}`) + 2
    if (at < 2) return `${START} 1\r\n${metadata}`
  }
  const stop = metadata.indexOf('\r\n', at)
  const end = stop < 0 ? metadata.length : stop
  const [, digits] = COUNT.exec(metadata.slice(at + START.length, end)) ?? []
  if (digits === undefined)
    throw new GatewayError(PROXY_ID, 400, `metadata ${HOPS} must be a whole number`)
  const hops = Number(digits)
  if (hops >= HOPS_MAX)
    throw new GatewayError(
      PROXY_ID,
      508,
      `the call has passed ${hops} proxies, the maximum is ${HOPS_MAX}: this is most likely a routing loop`,
    )
  return `${START} ${hops + 1}\r\n${metadata.slice(0, at)}${metadata.slice(end + 2)}`
}

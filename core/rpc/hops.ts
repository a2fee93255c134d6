import { GatewayError } from '../errors.ts'

/** Id of the errors of a proxy itself. */
export const PROXY_ID = 'go.mx.proxy'
/** How many proxies a call has passed: its name in the metadata (docs/protocol.md §4). */
export const HOPS = 'mx-hops'
/** The most that a call passes. */
export const HOPS_MAX = 16

const START = `${HOPS}:`
const COUNT = /^[\t ]*([0-9]{1,4})[\t ]*$/

/**
 * The metadata block of a call that passes a proxy: with one hop more, and else as it is, well-formed or not.
 *
 * @throws {GatewayError} 508 when the call has passed too many, 400 when what it says of them is no number.
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
      `the call has passed ${hops} proxies, and may pass ${HOPS_MAX}: most likely it goes round in a loop`,
    )
  return `${START} ${hops + 1}\r\n${metadata.slice(0, at)}${metadata.slice(end + 2)}`
}

import { parseAddress } from '../../core/upstream/parse-node.ts'

const FORM = /^(?:(mxs?):\/\/)?(.*)$/s

/**
 * The RPC proxy a program was told of, as `mx://host:port` or `mxs://host:port`: its option, else the variable `MX_PROXY`, unless
 * the program itself says where services are.
 *
 * @param given the option.
 * @param isTold whether another option says where services are: that goes before the variable.
 * @throws {TypeError} for a text that is no address, saying what would be right.
 */
export function readProxyAddress(given: string | undefined, isTold: boolean): string | undefined {
  if (given !== undefined) return parseProxyAddress(given, 'proxy')
  const variable = isTold ? '' : (process.env['MX_PROXY'] ?? '').trim()
  return variable === '' ? undefined : parseProxyAddress(variable, 'MX_PROXY')
}

/** @param what is given, for errors. */
function parseProxyAddress(text: string, what: string): string {
  const [, scheme = 'mx', address = ''] = FORM.exec(String(text).trim())!
  if (parseAddress(address) === undefined) {
    const shown = JSON.stringify(String(text).slice(0, 253))
    const forms = 'host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535'
    throw new TypeError(`${what} must be ${forms}, got ${shown}`)
  }
  return `${scheme}://${address}`
}

import { parseAddress } from '../../core/upstream/parse-node.ts'

const FORM = /^(?:(mxs?):\/\/)?(.*)$/s

/**
 * RPC proxy of a program as `mx://host:port` or `mxs://host:port`: its option, else the variable `MX_PROXY`, unless
 * another option configures where services are.
 *
 * @param given the option.
 * @param isTold another option takes precedence over the variable.
 * @throws {TypeError} for an invalid address, naming the valid forms.
 */
export function readProxyAddress(given: string | undefined, isTold: boolean): string | undefined {
  if (given !== undefined) return parseProxyAddress(given, 'proxy')
  const variable = isTold ? '' : (process.env['MX_PROXY'] ?? '').trim()
  return variable === '' ? undefined : parseProxyAddress(variable, 'MX_PROXY')
}

/** @param what name of the option, for errors. */
function parseProxyAddress(text: string, what: string): string {
  const [, scheme = 'mx', address = ''] = FORM.exec(String(text).trim())!
  if (parseAddress(address) === undefined) {
    const shown = JSON.stringify(String(text).slice(0, 253))
    const forms = 'host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535'
    throw new TypeError(`${what} must be ${forms}, got ${shown}`)
  }
  return `${scheme}://${address}`
}

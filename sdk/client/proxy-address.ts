import { parseHostPort } from '../../core/upstream/node/parse-node.ts'

const FORM = /^(?:(mxs?):\/\/)?(.*)$/s

/**
 * RPC proxy of a program as `mx://host:port` or `mxs://host:port`: its option, else the `MX_PROXY` variable, unless
 * another option specifies the location of services.
 *
 * @param configured the option.
 * @param isOptional true if another option takes precedence over the variable.
 * @throws {TypeError} for an invalid address; the message lists the valid forms.
 */
export function readProxyAddress(
  configured: string | undefined,
  isOptional: boolean,
): string | undefined {
  if (configured !== undefined) return parseProxyAddress(configured, 'proxy')
  const variable = isOptional ? '' : (process.env['MX_PROXY'] ?? '').trim()
  return variable === '' ? undefined : parseProxyAddress(variable, 'MX_PROXY')
}

/** @param option option name for errors. */
function parseProxyAddress(text: string, option: string): string {
  const [, scheme = 'mx', address = ''] = FORM.exec(String(text).trim())!
  if (parseHostPort(address) === undefined) {
    const quoted = JSON.stringify(String(text).slice(0, 253))
    const forms = 'host:port, mx://host:port or mxs://host:port (TLS), with a port from 1 to 65535'
    throw new TypeError(`${option} must be ${forms}, got ${quoted}`)
  }
  return `${scheme}://${address}`
}

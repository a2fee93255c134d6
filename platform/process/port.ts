import { probePort } from '../../core/listener/probe-port.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'

/**
 * Checks that an address is free, also of gateways with a shared port, and returns its port; a free one for port 0.
 *
 * @param setting name of its setting, for the error.
 * @throws {Error} with a one-line message.
 */
export async function claimPort({ host, port }: Address, setting = 'address'): Promise<number> {
  try {
    return await probePort(host, port)
  } catch (error) {
    const { cause } = error as Error
    throw new Error(explainListenError(cause as NodeJS.ErrnoException, { host, port }, setting), {
      cause: error,
    })
  }
}

function explainListenError(
  error: NodeJS.ErrnoException,
  address: Address,
  setting: string,
): string {
  const where = formatAddress(address)
  const elsewhere = `choose another with --${setting} or MX_${setting.toUpperCase()}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `address ${where} is in use by another program; ${elsewhere}`
    case 'EACCES':
      return `address ${where} is not permitted for this user; ${elsewhere}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `address ${where} does not belong to this machine; ${elsewhere}`
    default:
      return `address ${where} is not available: ${error.message}`
  }
}

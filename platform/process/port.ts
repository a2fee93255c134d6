import { probePort } from '../../core/listener/probe-port.ts'
import { type Address, formatAddress } from '../settings/parse/address.ts'

/**
 * Makes sure that nobody listens on an address, another gateway with shared port included,
 * and returns its port: a free one where 0 was asked for.
 *
 * @param setting the name of the setting it comes from.
 * @throws {Error} with one line that says what is wrong and what to do.
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

/** Why a port cannot be opened, for people. */
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
      return `address ${where} may not be opened by this user; ${elsewhere}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `address ${where} does not belong to this machine; ${elsewhere}`
    default:
      return `address ${where} cannot be opened: ${error.message}`
  }
}

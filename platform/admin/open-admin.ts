import { compileHosts } from '../../core/http/host/served-hosts.ts'
import type { Configuration } from '../config/types.ts'
import { claimPort } from '../process/port.ts'
import { formatAddress, isLoopback } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'
import { isSamePort } from '../settings/validate.ts'
import { type Admin, type AdminOptions, startAdmin } from './admin.ts'

/** The admin server of a process, if it has one. */
export interface OpenAdmin extends Pick<Admin, 'close'> {
  /** Undefined if the server is not open. */
  readonly url: string | undefined
  /**
   * Reason why the server on the default address is not open, to be logged once the process is
   * serving.
   */
  readonly warning: string | undefined
}

/**
 * Opens the admin server. A default address that is already in use is skipped with a warning,
 * because a machine may run several gateways.
 *
 * @throws {Error} with a one-line message if an explicit address cannot be opened.
 */
export async function openAdmin(
  { settings, inputs }: Pick<Configuration, 'settings' | 'inputs'>,
  options: Omit<AdminOptions, 'address' | 'isHost'>,
): Promise<OpenAdmin> {
  const { adminAddress: address } = settings
  if (address === undefined) return skip()
  const isHost = toHostCheck(settings)
  const isExplicit = inputs.has('adminAddress')
  if (!isExplicit && isUsedByOtherSetting(settings))
    return skip(toWarning(`another setting uses the address ${formatAddress(address)}`))
  try {
    if (address.port !== 0) await claimPort(address, 'admin_address')
    const { port, close } = await startAdmin({ ...options, address, isHost })
    return { url: `http://${formatAddress({ ...address, port })}`, warning: undefined, close }
  } catch (error) {
    if (isExplicit) throw error
    return skip(toWarning((error as Error).message))
  }
}

function skip(warning?: string): OpenAdmin {
  return { url: undefined, warning, close: async () => {} }
}

function toWarning(reason: string): string {
  return `no /livez, /readyz and /metrics: ${reason}`
}

function isUsedByOtherSetting({ adminAddress, ...settings }: Settings): boolean {
  const { address, http2Address = address, proxyAddress, webAddress } = settings
  return [address, http2Address, proxyAddress, webAddress].some((other) =>
    isSamePort(other, adminAddress!),
  )
}

/**
 * If `hosts` is `any`, a loopback address accepts only local names, and other addresses accept any
 * host.
 */
function toHostCheck({ adminAddress, hosts }: Settings): (host: string) => boolean {
  if (hosts !== 'any') return compileHosts(hosts)
  return isLoopback(adminAddress!) ? compileHosts([]) : () => true
}

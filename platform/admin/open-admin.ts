import { compileHosts } from '../../core/http/served-hosts.ts'
import type { Configuration } from '../config/types.ts'
import { claimPort } from '../process/port.ts'
import { formatAddress, isLoopback } from '../settings/parse/address.ts'
import type { Settings } from '../settings/settings.ts'
import { isSamePort } from '../settings/validate.ts'
import { type Admin, type AdminOptions, startAdmin } from './admin.ts'

/** The admin address of a process, which may have none. */
export interface OpenAdmin extends Pick<Admin, 'close'> {
  /** Undefined: it is not open. */
  readonly url: string | undefined
  /** Why it is not, where nobody asked for that; to be told once the process serves. */
  readonly warning: string | undefined
}

/**
 * Opens the admin address that the settings name. One that nobody asked for is left out where it is taken: there may be several gateways
 * on a machine.
 *
 * @throws {Error} with one line, when one that was asked for cannot be opened.
 */
export async function openAdmin(
  { settings, given }: Pick<Configuration, 'settings' | 'given'>,
  options: Omit<AdminOptions, 'address' | 'isHost'>,
): Promise<OpenAdmin> {
  const { adminAddress: address } = settings
  if (address === undefined) return toNone()
  const isHost = toHostCheck(settings)
  const isAsked = given.has('adminAddress')
  if (!isAsked && isTakenByItself(settings))
    return toNone(toWarning(`another setting has the address ${formatAddress(address)}`))
  try {
    if (address.port !== 0) await claimPort(address, 'admin_address')
    const { port, close } = await startAdmin({ ...options, address, isHost })
    return { url: `http://${formatAddress({ ...address, port })}`, warning: undefined, close }
  } catch (error) {
    if (isAsked) throw error
    return toNone(toWarning((error as Error).message))
  }
}

function toNone(warning?: string): OpenAdmin {
  return { url: undefined, warning, close: async () => {} }
}

function toWarning(reason: string): string {
  return `no /livez, /readyz and /metrics: ${reason}`
}

function isTakenByItself({ adminAddress, ...settings }: Settings): boolean {
  const { address, http2Address = address, proxyAddress, webAddress } = settings
  return [address, http2Address, proxyAddress, webAddress].some((other) =>
    isSamePort(other, adminAddress!),
  )
}

/** Where `hosts` is `any`, whoever has opened the address to other machines may be asked by whatever name they know it by. */
function toHostCheck({ adminAddress, hosts }: Settings): (host: string) => boolean {
  if (hosts !== 'any') return compileHosts(hosts)
  return isLoopback(adminAddress!) ? compileHosts([]) : () => true
}

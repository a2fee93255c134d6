import { once } from 'node:events'
import { lstatSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { probePort } from '../../core/listener/probe-port.ts'
import { type Address, formatAddress, toSocketPath } from '../settings/parse/address.ts'

/**
 * Checks that an address is not used by any program, including a gateway with a shared port.
 * Returns its port, or a free port for port 0. Removes the file of a Unix socket that no process
 * listens on.
 *
 * @param setting name of its setting, or its position in `mx.yaml`, for the error message.
 * @throws {Error} with a one-line message.
 */
export async function claimPort(address: Address, setting = 'address'): Promise<number> {
  const path = toSocketPath(address)
  if (path !== undefined) return claimSocket(path, setting)
  const { host, port } = address
  try {
    return await probePort(host, port)
  } catch (error) {
    const { cause } = error as Error
    throw new Error(explainListenError(cause as NodeJS.ErrnoException, { host, port }, setting), {
      cause: error,
    })
  }
}

/** Returns whether an address is the same on every start. */
export function isFixed(address: Address): boolean {
  return address.port !== 0 || toSocketPath(address) !== undefined
}

/** @returns 0, the port of a Unix socket. */
async function claimSocket(path: string, setting: string): Promise<number> {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return 0
  if (!stats.isSocket())
    throw new Error(`unix:${path} exists and is not a socket; ${adviseOtherAddress(setting)}`)
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED')
      throw new Error(`address unix:${path} is not available: ${(error as Error).message}`, {
        cause: error,
      })
    // Left behind by a process that was killed.
    unlinkSync(path)
    return 0
  } finally {
    socket.destroy()
  }
  throw new Error(
    `address unix:${path} is in use by another program; ${adviseOtherAddress(setting)}`,
  )
}

function adviseOtherAddress(setting: string): string {
  return setting.includes(':')
    ? `choose another in ${setting}`
    : `choose another with --${setting} or MX_${setting.toUpperCase()}`
}

function explainListenError(
  error: NodeJS.ErrnoException,
  address: Address,
  setting: string,
): string {
  const addressText = formatAddress(address)
  const elsewhere = adviseOtherAddress(setting)
  switch (error.code) {
    case 'EADDRINUSE':
      return `address ${addressText} is in use by another program; ${elsewhere}`
    case 'EACCES':
      return `address ${addressText} is not permitted for this user; ${elsewhere}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `address ${addressText} does not belong to this machine; ${elsewhere}`
    default:
      return `address ${addressText} is not available: ${error.message}`
  }
}

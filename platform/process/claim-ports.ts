import { toFolderPath } from '../server/files/data-folder.ts'
import { findLockOwner } from '../server/files/folder-lock.ts'
import { formatAddress } from '../settings/parse/address.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import { claimPort, isFixed } from './port.ts'

const KEYS = ['address', 'http2Address', 'proxyAddress', 'webAddress'] as const

/**
 * Checks that the addresses of the server are free.
 *
 * @param dataDir data folder of the server, if it needs one; only read.
 * @throws {Error} with a one-line message, which identifies another server that uses the folder.
 */
export async function claimPorts(
  settings: Pick<Settings, (typeof KEYS)[number]>,
  dataDir: string | undefined,
): Promise<void> {
  for (const key of KEYS) {
    const address = settings[key]
    if (address === undefined || !isFixed(address)) continue
    try {
      await claimPort(address, SETTINGS[key].name)
    } catch (error) {
      const owner = isInUse(error) && dataDir !== undefined && (await findOwner(dataDir))
      if (!owner) throw error
      throw new Error(
        `address ${formatAddress(address)} is in use, and ${owner}: stop that server, or choose other addresses and another --data_dir`,
        { cause: error },
      )
    }
  }
}

function isInUse(error: unknown): boolean {
  const { cause } = ((error as Error).cause ?? {}) as Error
  return (cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE'
}

/**
 * Returns a description such as `another mx server (process 4711) uses the data folder ...`, or undefined if no other
 * server uses it.
 */
async function findOwner(dataDir: string): Promise<string | undefined> {
  try {
    const folder = toFolderPath(dataDir)
    const owner = await findLockOwner(folder)
    return owner && `${owner} uses the data folder ${folder}`
  } catch {
    // The folder does not exist yet.
    return undefined
  }
}

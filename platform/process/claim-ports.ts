import { toFolderPath } from '../server/files/data-folder.ts'
import { findLockOwner } from '../server/files/folder-lock.ts'
import { formatAddress } from '../settings/parse/address.ts'
import { SETTINGS, type Settings } from '../settings/settings.ts'
import { claimPort } from './port.ts'

const KEYS = ['address', 'http2Address', 'proxyAddress', 'webAddress'] as const

/**
 * Makes sure that nobody listens where the server will.
 *
 * @param dataDir the setting, when the server needs a folder: it is looked into, not touched.
 * @throws {Error} with one line; where another server has the folder, that says so.
 */
export async function claimPorts(
  settings: Pick<Settings, (typeof KEYS)[number]>,
  dataDir: string | undefined,
): Promise<void> {
  for (const key of KEYS) {
    const address = settings[key]
    if (address === undefined || address.port === 0) continue
    try {
      await claimPort(address, SETTINGS[key].name)
    } catch (error) {
      const holder = isInUse(error) && dataDir !== undefined && (await findHolder(dataDir))
      if (!holder) throw error
      throw new Error(
        `address ${formatAddress(address)} is in use, and ${holder}: stop it, or choose other addresses and another --data_dir`,
        { cause: error },
      )
    }
  }
}

function isInUse(error: unknown): boolean {
  const { cause } = (error as Error).cause as Error
  return (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

/** What it does: `another mx server (process 4711) has the data folder ...`; undefined: there is none. */
async function findHolder(dataDir: string): Promise<string | undefined> {
  try {
    const folder = toFolderPath(dataDir)
    const holder = await findLockOwner(folder)
    return holder && `${holder} has the data folder ${folder}`
  } catch {
    // No folder yet.
    return undefined
  }
}

import { join } from 'node:path'
import type { TlsSource } from '../../core/listener/tls/tls.ts'
import { createStore } from '../../domain/store/store.ts'
import { createDisposer } from '../../lib/async/disposer.ts'
import type { Log } from '../process/log.ts'
import { openDataFolder } from '../server/files/data-folder.ts'
import { openStore } from '../server/open/store.ts'
import type { Settings } from '../settings/settings.ts'
import { openAcme } from './open-acme.ts'
import { readSecretKeys } from './secret-keys.ts'

/**
 * Opens certificates of ACME for a gateway that has no store otherwise, with one of its own by the settings.
 *
 * @throws {Error} with one line.
 */
export async function openStandaloneAcme(settings: Settings, log: Log): Promise<TlsSource> {
  const closing = createDisposer()
  try {
    const isInFolder = settings.store === 'lmdb'
    const folder = isInFolder ? await openDataFolder(settings.dataDir) : undefined
    closing.add(() => folder?.close())
    const adapter = await openStore({
      settings,
      folder: join(folder?.path ?? '', 'store'),
      onWarning: (message) => log.warn(message),
    })
    const store = createStore(adapter)
    closing.add(store.close)
    const secretKeys = readSecretKeys(settings)
    // What a file holds, its owner alone reads.
    if (secretKeys.length === 0 && settings.store.includes(':'))
      log.warn(
        'private keys of certificates are kept in the store as they are: set MX_CONFIG_SECRET_KEY to encrypt them',
      )
    const acme = await openAcme({ settings, store, secretKeys, log })
    closing.add(acme.close)
    return {
      ...acme,
      get pairs() {
        return acme.pairs
      },
      close: closing.close,
    }
  } catch (error) {
    await closing.close()
    throw error
  }
}

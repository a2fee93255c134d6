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
 * Opens ACME, with a separate store, for a gateway without a server.
 *
 * @throws {Error} with a one-line message.
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
    // Files are readable only by their owner; remote stores may not be protected.
    if (secretKeys.length === 0 && settings.store.includes(':'))
      log.warn(
        'private keys of certificates are stored unencrypted: set MX_CONFIG_SECRET_KEY to encrypt them',
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

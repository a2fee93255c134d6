import type { StoreAdapter } from '../../../core/contracts/store.ts'
import { redactUrl } from '../../../lib/text/redact.ts'
import { toMaxStoreBytes, toStoreQuotas } from '../../settings/quotas.ts'
import type { Settings } from '../../settings/settings.ts'

export interface OpenStoreOptions {
  readonly settings: Pick<
    Settings,
    'store' | 'storeSync' | 'maxStoreBytes' | 'quotaStore' | 'quotaConfig'
  >
  /** Folder of the files. */
  readonly folder: string
  readonly onWarning: (message: string) => void
}

/**
 * Opens and checks the store of the `store` setting. Imports its adapter on demand.
 *
 * @throws {Error} with a one-line message if it is unavailable.
 */
export async function openStore(options: OpenStoreOptions): Promise<StoreAdapter> {
  const adapter = await load(options)
  try {
    await adapter.listTables({ limit: 1 })
    return adapter
  } catch (error) {
    await adapter.close?.()
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(`the store ${redactUrl(options.settings.store)} is not available: ${reason}`, {
      cause: error,
    })
  }
}

async function load(options: OpenStoreOptions): Promise<StoreAdapter> {
  const { settings, folder, onWarning } = options
  const quotas = toStoreQuotas(settings)
  const maxBytes = toMaxStoreBytes(settings)
  switch (settings.store) {
    case 'memory': {
      const { createMemoryStore } = await import('../../../adapters/store/memory.ts')
      return createMemoryStore({ maxBytes, quotas })
    }
    case 'lmdb': {
      const { createLmdbStore } = await import('../../../adapters/store/lmdb.ts')
      return createLmdbStore({ folder, sync: settings.storeSync, onWarning, quotas })
    }
    default: {
      const { createPostgresStore } = await import('../../../adapters/store/postgres.ts')
      return createPostgresStore({ url: settings.store, maxBytes, onWarning, quotas })
    }
  }
}

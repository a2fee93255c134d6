import { createDisposer } from '../../../lib/async/disposer.ts'
import { createLog } from '../../process/log.ts'
import { checkApi } from '../check-configuration.ts'
import type { Configuration } from '../types.ts'
import { createFileStorage, MEMORY_STORAGE } from './storage.ts'
import {
  type ConfigVersionsOptions,
  openConfigVersions,
  type ReloadableVersions,
} from './versions.ts'

type ApiVersionsOptions = Omit<ConfigVersionsOptions, 'storage' | 'check'>

/**
 * Opens the versions of `mx api`, which are stored next to the configuration file if they are
 * accessible.
 */
export function openApiVersions(options: ApiVersionsOptions): Promise<ReloadableVersions> {
  const { settings, file } = options.initial
  const isStored = file !== undefined && settings.adminToken !== ''
  const storage = isStored ? createFileStorage(file) : MEMORY_STORAGE
  return openConfigVersions({ ...options, storage, check })
}

/** Performs the same checks as `mx api check`. */
async function check(next: Configuration): Promise<void> {
  const closing = createDisposer()
  try {
    await checkApi(next, createLog('silent'), closing)
  } finally {
    await closing.close()
  }
}

import type { StoreAdapter } from '../../core/contracts/store.ts'
import { createStore, type Store, type StoreOptions } from '../../domain/store/store.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createBlobEndpoints } from './blob-endpoints.ts'
import { createBlobs } from './blobs.ts'
import { createStoreEndpoints } from './endpoints.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'Records and blobs'

export interface StoreServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Stores the records. It is closed with the service. */
  readonly adapter: StoreAdapter
  /** Limits of records. */
  readonly store?: StoreOptions
  /** Maximum number of watchers; further watchers are rejected with 429. @default 10000 */
  readonly maxWatchers?: number
  /** Maximum length of a blob in bytes. @default 1073741824 */
  readonly maxBlobBytes?: number
}

/** The built-in `store` service. */
export interface StoreService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  readonly store: Store
  /** Ends watches and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Ends watches, stops the service, then closes the store. */
  readonly close: () => Promise<void>
}

/** Creates the `store` service (reference 4). */
export function createStoreService(options: StoreServiceOptions): StoreService {
  const { adapter, store: storeOptions = {}, maxWatchers = 10_000, ...more } = options
  const { maxBlobBytes = 1024 ** 3, ...serviceOptions } = more
  const { nowMs = Date.now } = storeOptions
  const checks = createAccountChecks(serviceOptions.authorizer)
  const store = createStore(adapter, storeOptions)
  const watches = createWatches({ store, maxWatchers, nowMs })
  const blobs = createBlobs({ store, maxBytes: maxBlobBytes, nowMs })
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'store',
  })
    .handle('Store', createStoreEndpoints(store, watches, nowMs, checks))
    .handle('BlobStore', createBlobEndpoints(store, blobs, checks))
  return {
    service,
    store,
    endStreams: watches.close,
    async close() {
      watches.close()
      await service.stop()
      await store.close()
    },
  }
}

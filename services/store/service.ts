import type { StoreAdapter } from '../../core/contracts/store.ts'
import { createStore, type Store, type StoreOptions } from '../../domain/store/store.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createBlobEndpoints } from './blob-endpoints.ts'
import { createBlobs } from './blobs.ts'
import { createStoreEndpoints } from './endpoints.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'Records and blobs'

/** What the store service is told. */
export interface StoreServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Keeps the records; closed with the service. */
  readonly adapter: StoreAdapter
  /** Limits of what is stored. */
  readonly store?: StoreOptions
  /** Watchers at a time; one more is refused with 429. @default 10000 */
  readonly maxWatchers?: number
  /** Longest blob, bytes. @default 1073741824 */
  readonly maxBlobBytes?: number
}

/** The store of a platform, as a service of it. */
export interface StoreService {
  /** Not started yet. */
  readonly service: Service<object>
  /** What the service works on. */
  readonly store: Store
  /** Ends the streams of those who watch, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends the streams of those who watch, stops the service, then closes the store. */
  readonly close: () => Promise<void>
}

/** The service `store` (reference 4), over an adapter. */
export function createStoreService(options: StoreServiceOptions): StoreService {
  const { adapter, store: storeOptions = {}, maxWatchers = 10_000, ...more } = options
  const { maxBlobBytes = 1024 ** 3, ...rest } = more
  const { nowMs = Date.now } = storeOptions
  const checks = createAccountChecks(rest.gate)
  const store = createStore(adapter, storeOptions)
  const watches = createWatches({ store, maxWatchers, nowMs })
  const blobs = createBlobs({ store, maxBytes: maxBlobBytes, nowMs })
  const service = new Service({ metadata: { description: DESCRIPTION }, ...rest, name: 'store' })
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

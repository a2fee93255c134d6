import type { Store } from '../../domain/store/store.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createChanges } from './changes.ts'
import { createEndpoints } from './endpoints.ts'
import type { SecretKey } from './secrets/secret-key.ts'
import { createSnapshots } from './snapshots.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'Configuration values of services'

export interface ConfigServiceOptions extends Omit<ServiceOptions, 'name'> {
  /**
   * Stores each namespace in the `config` table of its database. It is not closed with the service.
   */
  readonly store: Store
  /** Key that encrypts secrets, from `openSecretKey`. @default none, so secrets are rejected */
  readonly secretKey?: SecretKey
  /** Maximum number of stored versions per namespace, including the current one. @default 20 */
  readonly maxVersions?: number
  /** Maximum number of watchers; further watchers are rejected with 429. @default 10000 */
  readonly maxWatchers?: number
  /** Unix time in milliseconds. @default Date.now */
  readonly nowMs?: () => number
}

/** The built-in `config` service. */
export interface ConfigService {
  /** A service that has not been started yet. */
  readonly service: Service<object>
  /** Ends watches and rejects new ones. Other calls continue. */
  readonly endStreams: () => void
  /** Ends watches, stops the service, then waits for changes in progress. */
  readonly close: () => Promise<void>
}

/** Creates the `config` service (specification: Config entry; reference 3). */
export function createConfigService(options: ConfigServiceOptions): ConfigService {
  const { store, secretKey, maxVersions = 20, maxWatchers = 10_000, ...more } = options
  const { nowMs = Date.now, ...serviceOptions } = more
  const snapshots = createSnapshots(store)
  const changes = createChanges({ store, snapshots, secretKey, nowMs, maxVersions })
  const watches = createWatches({ store, snapshots, maxWatchers })
  const { maxValueBytes } = store
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...serviceOptions,
    name: 'config',
  }).handle(
    'Config',
    createEndpoints({
      ...{ snapshots, changes, watches, secretKey, maxValueBytes },
      checks: createAccountChecks(serviceOptions.authorizer),
    }),
  )
  return {
    service,
    endStreams: watches.close,
    async close() {
      watches.close()
      await service.stop()
      await changes.close()
    },
  }
}

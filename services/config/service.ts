import type { Store } from '../../domain/store/store.ts'
import { createAccountChecks } from '../../sdk/auth/account-checks.ts'
import { Service, type ServiceOptions } from '../../sdk/service/service.ts'
import { createChanges } from './changes.ts'
import { createEndpoints } from './endpoints.ts'
import type { SecretKey } from './secrets/secret-key.ts'
import { createSnapshots } from './snapshots.ts'
import { createWatches } from './watches.ts'

const DESCRIPTION = 'Values services read'

/** What the config service is told. */
export interface ConfigServiceOptions extends Omit<ServiceOptions, 'name'> {
  /** Keeps everything, a namespace in the table `config` of its database. Not closed with the service. */
  readonly store: Store
  /** What secrets are encrypted with, from `openSecretKey`. @default none: there can be no secrets */
  readonly secretKey?: SecretKey
  /** Versions that are kept of a namespace, the last one included. @default 20 */
  readonly maxVersions?: number
  /** Watchers at a time; one more is refused with 429. @default 10000 */
  readonly maxWatchers?: number
  /** Milliseconds since 1970. @default Date.now */
  readonly nowMs?: () => number
}

/** The configuration of a platform, as a service of it. */
export interface ConfigService {
  /** Not started yet. */
  readonly service: Service<object>
  /** Ends the streams of those who watch, and takes no more of them; other calls go on. */
  readonly endStreams: () => void
  /** Ends the streams of those who watch, stops the service, then waits for the changes under way. */
  readonly close: () => Promise<void>
}

/** The service `config` (specification: Config entry; reference 3), over a store. */
export function createConfigService(options: ConfigServiceOptions): ConfigService {
  const { store, secretKey, maxVersions = 20, maxWatchers = 10_000, ...more } = options
  const { nowMs = Date.now, ...rest } = more
  const snapshots = createSnapshots(store)
  const changes = createChanges({ store, snapshots, secretKey, nowMs, maxVersions })
  const watches = createWatches({ store, snapshots, maxWatchers })
  const { maxValueBytes } = store
  const service = new Service({
    metadata: { description: DESCRIPTION },
    ...rest,
    name: 'config',
  }).handle(
    'Config',
    createEndpoints({
      ...{ snapshots, changes, watches, secretKey, maxValueBytes },
      checks: createAccountChecks(rest.gate),
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

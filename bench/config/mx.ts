import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createStore } from '../../domain/store/store.ts'
import { Client } from '../../sdk/client/client.ts'
import { createConfig } from '../../sdk/config/config.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { openSecretKey } from '../../services/config/secrets/open-secret-key.ts'
import { makeSecretKey } from '../../services/config/secrets/secret-key.ts'
import { createConfigService } from '../../services/config/service.ts'
import type { Contestant } from './contestant.ts'

export interface MxOptions {
  readonly folder: string
  /** Time at which a write is acknowledged: after the system call, or after fsync. */
  readonly sync: 'os' | 'always'
  /** True to call the service over a socket, false within the process. */
  readonly socket: boolean
  /** True to set secret values. */
  readonly secret: boolean
}

/** Opens the `config` service on a file, called through the SDK. */
export async function openMx({ folder, sync, socket, secret }: MxOptions): Promise<Contestant> {
  const store = createStore(createLmdbStore({ folder, sync }))
  const secretKey = (await openSecretKey({ store, key: makeSecretKey() }))!
  const { service, close } = createConfigService({
    store,
    secretKey,
    address: '127.0.0.1:0',
    log: createServiceLog({ service: 'config', write: () => {} }),
  })
  const address = await service.start()
  const client = socket
    ? new Client({ address, inProcess: false })
    : new Client({ services: [service] })
  const config = createConfig(client)
  return {
    name: `mx, sync ${sync}, ${socket ? 'over a socket' : 'in process'}${secret ? ', secrets' : ''}`,
    set: (key, value) => config.set(key, value, { secret }),
    get: async (key) => (await config.get(key, { secret })).string(),
    async close() {
      client.close()
      await close()
      await store.close()
    },
  }
}

import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { Client } from '../../sdk/client/client.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { createStore } from '../../sdk/store/store.ts'
import { createStoreService } from '../../services/store/service.ts'
import type { Contestant } from './contestant.ts'

const GOALS = { readsPerSecond: 100_000, pageMs: 5 }

/** Opens the `store` service on a file, called through the SDK within the process. */
export async function openMx(folder: string, sync: 'os' | 'always'): Promise<Contestant> {
  const { service, close } = createStoreService({
    adapter: createLmdbStore({ folder, sync }),
    address: '127.0.0.1:0',
    log: createServiceLog({ service: 'store', write: () => {} }),
  })
  await service.start()
  const client = new Client({ services: [service] })
  const store = createStore(client, { table: 'bench' })
  return {
    goals: { ...GOALS, writesPerSecond: sync === 'os' ? 80_000 : 60_000 },
    write: (key, value) => store.write(key, value),
    read: async (key) => (await store.read(key))[0]!.text(),
    readPrefix: async (prefix) => (await store.read('', { prefix })).map((record) => record.text()),
    async close() {
      client.close()
      await close()
    },
  }
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { StoreAdapter } from '../../../../core/contracts/store.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { openStore } from '../../../../platform/server/open/store.ts'
import { startPostgres } from '../../../fixtures/postgres.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const NO_QUOTA = { limit: Number.POSITIVE_INFINITY, namespaces: {} }
const QUOTAS = { quotaStore: NO_QUOTA, quotaConfig: NO_QUOTA }

t.setTimeout(120_000)

const TABLE = { database: 'mx', table: 'a' }

function open(store: string, folder: string): Promise<StoreAdapter> {
  return openStore({
    settings: { store, storeSync: 'os', maxStoreBytes: 1024, ...QUOTAS },
    folder,
    onWarning: () => {},
  })
}

async function check(adapter: StoreAdapter): Promise<number> {
  const store = createStore(adapter)
  await store.commit([{ table: TABLE, key: 'k', value: Buffer.from('v') }])
  const result = await store.read(TABLE, 'k')
  await store.close()
  return result?.value.length ?? 0
}

t.test('opens the configured store', async (t) => {
  const folder = makeTempFolder(t, 'store')
  t.equal(await check(await open('memory', folder)), 1)
  const small = createStore(await open('memory', folder))
  const long = { table: TABLE, key: 'k', value: Buffer.alloc(1024) }
  await t.rejects(small.commit([long]), { code: 507 }, 'the limit of the settings')
  await small.close()
  t.equal(await check(await open('lmdb', join(folder, 'store'))), 1)
  const reopened = await open('lmdb', join(folder, 'store'))
  t.ok(await reopened.read(TABLE, 'k'), 'the record is stored in the folder')
  await reopened.close?.()
})

t.test('a namespace cannot fill the in-memory store by default', async (t) => {
  const settings = { store: 'memory', storeSync: 'os', maxStoreBytes: 100_000 } as const
  const AUTO = { limit: 'auto', namespaces: {} } as const
  const quotas = { quotaStore: AUTO, quotaConfig: AUTO }
  const adapter = await openStore({
    settings: { ...settings, ...quotas },
    folder: '',
    onWarning() {},
  })
  const store = createStore(adapter)
  const write = (database: string, key: string) =>
    store.commit([{ table: { database, table: 'a' }, key, value: Buffer.alloc(40_000) }])
  await write('acme', 'a')
  await t.rejects(write('acme', 'b'), {
    code: 507,
    message: /^quota_store reached in namespace acme: /,
  })
  await write('other', 'a')
  await store.close()
})

t.test('checks PostgreSQL before the store is used', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  t.equal(await check(await open(server.url(), '')), 1)
})

t.test('reports an unavailable store without its password', async (t) => {
  await t.rejects(open('postgres://u:secret@127.0.0.1:1/mx', ''), {
    message:
      'the store postgres://[hidden]@127.0.0.1:1/mx is not available: connect ECONNREFUSED 127.0.0.1:1',
  })
  const folder = makeTempFolder(t, 'store')
  mkdirSync(join(folder, 'store'))
  writeFileSync(join(folder, 'store', 'data.mdb'), 'this is none'.repeat(1000))
  await t.rejects(open('lmdb', join(folder, 'store')), /^[^\n]*cannot be opened[^\n]*$/)
})

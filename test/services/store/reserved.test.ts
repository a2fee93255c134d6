import t from 'tap'
import { toTable } from '../../../services/config/records.ts'
import { RUNTIME_TABLE as RUNTIME } from '../../../services/runtime/state/records.ts'
import { toBlobTables } from '../../../services/store/blobs.ts'
import { rejectReserved } from '../../../services/store/reserved.ts'
import { openPlatformStore } from '../../fixtures/platform-store.ts'

const RESERVED = [
  { database: 'mx', table: 'auth' },
  toTable('mx'),
  RUNTIME,
  ...Object.values(toBlobTables('mx')),
]

t.test('the tables of built-in services are reserved in every database', async (t) => {
  for (const { table } of RESERVED)
    for (const database of ['mx', 'foo'])
      t.throws(() => rejectReserved({ database, table }, 'id'), {
        id: 'id',
        code: 403,
        message:
          /^the table \S+ is reserved for (the service (auth|config|runtime)|BlobStore); choose another/,
      })
  for (const table of ['mx', 'greeter', 'configs', 'blobs.other'])
    rejectReserved({ database: 'mx', table }, 'id')
})

t.test('rejects reading, writing and watching a reserved table with 403', async (t) => {
  const { call, stream, store } = await openPlatformStore(t)
  for (const table of RESERVED) {
    await store.commit([{ table, key: 'a', value: Buffer.from('secret') }])
    const options = { table: table.table }
    const rejection = { code: 403, id: /^store\.Store\./ }
    await t.rejects(call('Read', { key: 'a', options }), rejection)
    await t.rejects(call('Read', { options: { ...options, prefix: true } }), rejection)
    await t.rejects(call('Write', { record: { key: 'a' }, options }), rejection)
    await t.rejects(call('Delete', { key: 'a', options }), rejection)
    await t.rejects(stream('List', { options }).next(), rejection)
    await t.rejects(stream('Watch', { options }).next(), rejection)
    t.equal((await store.read(table, 'a'))?.value.toString(), 'secret')
  }
})

import t from 'tap'
import { RESERVED_TABLES } from '../../core/reserved-tables.ts'
import { toBlobTables } from '../../services/store/blobs.ts'

t.test('those that blobs lie in are reserved for them', async (t) => {
  const tables = Object.values(toBlobTables('acme')).map(({ table }) => table)
  for (const table of tables) t.equal(RESERVED_TABLES.get(table), 'BlobStore', table)
})

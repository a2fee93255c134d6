import t from 'tap'
import { findTableOwner } from '../../../sdk/store/reserved-tables.ts'
import { toBlobTables } from '../../../services/store/blobs.ts'

t.test('tables of blobs are reserved for BlobStore', async (t) => {
  const tables = Object.values(toBlobTables('acme')).map(({ table }) => table)
  for (const table of tables) t.equal(findTableOwner(table), 'BlobStore', table)
})

t.test('a reserved table is reserved in any letter case', async (t) => {
  t.equal(findTableOwner('AUTH'), 'the service auth')
  t.equal(findTableOwner('Blobs.Loose'), 'BlobStore')
  t.equal(findTableOwner('authors'), undefined)
})

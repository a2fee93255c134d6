import { join } from 'node:path'
import t from 'tap'
import { createLmdbStore } from '../../../adapters/store/lmdb.ts'
import { testStore } from '../../contracts/store.ts'
import { testStoreModel } from '../../contracts/store-model.ts'
import { testStoreQuotas } from '../../contracts/store-quotas.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

for (const sync of ['os', 'always'] as const)
  t.test(sync, async (t) => {
    testStore(t, (t) => {
      const folder = makeTempFolder(t, 'lmdb')
      return {
        adapter: createLmdbStore({ folder, sync }),
        reopen: () => createLmdbStore({ folder, sync }),
      }
    })
  })

t.test('quotas', async (t) => {
  testStoreQuotas(
    t,
    (t) => {
      const folder = makeTempFolder(t, 'lmdb')
      return (quotas) => createLmdbStore({ folder, quotas })
    },
    true,
  )
})

t.test('model', async (t) => {
  const folder = makeTempFolder(t, 'lmdb')
  let count = 0
  testStoreModel(t, () => createLmdbStore({ folder: join(folder, String(count++)) }))
})

import t from 'tap'
import { createPostgresStore } from '../../../adapters/store/postgres.ts'
import { testStore } from '../../contracts/store.ts'
import { startPostgres } from '../../fixtures/postgres.ts'

t.test('the contract of stores', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  let schemas = 0
  testStore(t, () => {
    const url = server.url(`sslmode=disable&schema=test${++schemas}`)
    const reopen = () => createPostgresStore({ url })
    return { adapter: reopen(), reopen }
  })
})

import t from 'tap'
import { createPostgresStore } from '../../../adapters/store/postgres.ts'
import { testStore } from '../../contracts/store.ts'
import { testStoreModel } from '../../contracts/store-model.ts'
import { testStoreQuotas, testStoreReserve } from '../../contracts/store-quotas.ts'
import { startPostgres } from '../../fixtures/postgres.ts'

t.setTimeout(120_000)

/** Adapters with separate schemas, over sockets. */
const MODEL_RUNS = 30

t.test('fulfills the store contract', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  let schemas = 0
  testStore(t, () => {
    const url = server.url(`sslmode=disable&schema=test${++schemas}`)
    const reopen = () => createPostgresStore({ url })
    return { adapter: reopen(), reopen }
  })
  testStoreQuotas(
    t,
    () => {
      const url = server.url(`sslmode=disable&schema=quotas${++schemas}`)
      return (quotas) => createPostgresStore({ url, quotas })
    },
    true,
  )
  testStoreReserve(
    t,
    () => {
      const url = server.url(`sslmode=disable&schema=reserve${++schemas}`)
      return (maxBytes) => createPostgresStore({ url, maxBytes })
    },
    true,
  )
})

t.test('model', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  let schemas = 0
  const create = () =>
    createPostgresStore({ url: server.url(`sslmode=disable&schema=model${++schemas}`) })
  testStoreModel(t, create, MODEL_RUNS)
})

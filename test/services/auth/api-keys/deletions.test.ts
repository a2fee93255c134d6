import t from 'tap'
import { deleteApiKeys, listApiKeyDeletions } from '../../../../services/auth/api-keys/deletions.ts'
import { AUTH_TABLE } from '../../../../services/auth/records.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'

t.test('deletes the keys of one account with their owner records', async (t) => {
  const { accounts, apiKeys, store } = await openAuthParts(t)
  const input = { name: 'ci', scopes: [], lifeMs: 0, limits: {} }
  for (const id of ['jane', 'janet']) {
    const { account } = await accounts.create('mx', { id }, 'test')
    await apiKeys.create(account, input, 'test')
  }
  t.same(await listApiKeyDeletions(store, 'mx', 'nobody'), [])
  await store.commit(await listApiKeyDeletions(store, 'mx', 'jane'))
  const { keys } = await apiKeys.list('mx', { limit: 10 })
  t.same(
    keys.map(({ account }) => account),
    ['janet'],
  )
  await store.commit(deleteApiKeys('mx', 'janet', [keys[0]!.id]))
  t.same((await store.list(AUTH_TABLE, { prefix: 'apiKey' })).records, [])
})

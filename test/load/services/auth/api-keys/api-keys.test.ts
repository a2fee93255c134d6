import t from 'tap'
import { openAuthParts } from '../../../../fixtures/auth-parts.ts'

const ID = 'auth.ApiKeys.Rotate'
const HOUR_MS = 3600_000

t.test('limits the revocations that keys of an account cause per hour', async (t) => {
  const { accounts, apiKeys, clock } = await openAuthParts(t)
  const { account } = await accounts.create('mx', { id: 'jane' }, ID)
  const input = { name: 'ci', scopes: [], lifeMs: 0, limits: {} }
  const { record } = await apiKeys.create(account, input, ID)
  for (let i = 1; i < 3600; i++) await apiKeys.rotate(record, 0, ID)
  const limited = { code: 429, message: /^3600 API keys of jane were created or rotated within/ }
  await t.rejects(apiKeys.rotate(record, 0, ID), limited)
  await t.rejects(apiKeys.create(account, input, ID), limited)
  t.ok(await apiKeys.delete(record), 'a key can always be deleted')
  clock.ms += HOUR_MS
  t.ok(await apiKeys.create(account, input, ID))
})

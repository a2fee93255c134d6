import t from 'tap'
import { createRevokeLimit } from '../../../../services/auth/tokens/revoke-limit.ts'

const ID = 'auth.Auth.Revoke'
const JANE = { namespace: 'mx', account: 'jane' }

t.test('returns 429 after too many individual revocations of an account', (t) => {
  let now = 1_000_000
  const count = createRevokeLimit(() => now)
  for (let i = 0; i < 3600; i++) count(JANE, ID)
  now += 600_000
  t.throws(() => count(JANE, ID), {
    ...{ id: ID, code: 429, headers: ['retry-after', '3000'] },
    message:
      '3600 access tokens of jane were revoked within an hour; revoke the refresh token, or all tokens of the account with request.id',
  })
  count({ namespace: 'acme', account: 'jane' }, ID)
  count({ namespace: 'mx', account: 'john' }, ID)
  now += 3000_000
  count(JANE, ID)
  t.end()
})

t.test('returns 429 after too many individual revocations of a namespace', (t) => {
  const count = createRevokeLimit(() => 1_000_000)
  for (let i = 0; i < 36_000; i++) count({ namespace: 'acme', account: `account-${i % 100}` }, ID)
  t.throws(() => count({ namespace: 'acme', account: 'other' }, ID), {
    ...{ id: ID, code: 429 },
    message: /^36000 access tokens of namespace acme were revoked within an hour/,
  })
  count(JANE, ID)
  t.end()
})

t.test('the error names the revoked objects and the remedy', (t) => {
  const objects = { plural: 'API keys', action: 'rotated', remedy: 'try again later' }
  const count = createRevokeLimit(() => 1_000_000, objects)
  for (let i = 0; i < 3600; i++) count(JANE, ID)
  t.throws(() => count(JANE, ID), {
    message: '3600 API keys of jane were rotated within an hour; try again later',
  })
  t.end()
})

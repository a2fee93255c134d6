import t from 'tap'
import { createQuota } from '../../../../core/limits/quota.ts'
import { ADMIN, type Caller, openPlatformAuth } from '../../../fixtures/platform-auth.ts'

const ACME_ADMIN: Caller = { ...ADMIN, issuer: 'acme' }
const options = { namespace: 'acme' }
const toQuota = (name: string) => createQuota(name, { limit: 2, namespaces: {} })
const quotas = { accounts: toQuota('quota_accounts'), rules: toQuota('quota_rules') }

t.test('limits the accounts of a namespace to its quota, even concurrently', async (t) => {
  const { call } = await openPlatformAuth(t, { quotas })
  const create = (id: string, caller = ACME_ADMIN, namespace = 'acme') =>
    call('Auth.Generate', { id, options: { namespace } }, caller)
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((id) => create(id)))
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
  await t.rejects(create('e'), {
    ...{ id: 'auth.Auth.Generate', code: 429 },
    message:
      'quota_accounts reached in namespace acme: 2 of 2 accounts in use; delete accounts, or raise the quota (quota_accounts=acme=...)',
  })
  await create('operators', ADMIN)
  for (const id of ['a', 'b', 'c']) await create(id, ADMIN, 'mx')
  await create('a', { ...ADMIN, issuer: 'other' }, 'other')
  const { accounts } = await call<{ accounts: readonly { id: string }[] }>(
    'Accounts.List',
    { options },
    ADMIN,
  )
  for (const { id } of accounts.slice(0, 2)) await call('Accounts.Delete', { id, options }, ADMIN)
  await create('f')
  await t.rejects(create('g'), { code: 429 })
})

t.test('limits the rules of a namespace to its quota, except for operators', async (t) => {
  const { call } = await openPlatformAuth(t, { quotas })
  const create = (id: string, caller = ACME_ADMIN, access = 'GRANTED') =>
    call(
      'Rules.Create',
      {
        rule: { id, scope: '*', access, resource: { type: 'service', name: 'a', endpoint: '*' } },
        options,
      },
      caller,
    )
  await create('a')
  await t.rejects(create('b'), {
    ...{ id: 'auth.Rules.Create', code: 429 },
    message:
      'quota_rules reached in namespace acme: 2 of 2 rules in use; delete rules, or raise the quota (quota_rules=acme=...)',
  })
  await create('c', ADMIN, 'DENIED')
  for (const id of ['a', 'c']) await call('Rules.Delete', { id, options }, ACME_ADMIN)
  await create('d')
})

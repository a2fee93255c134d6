import t from 'tap'
import { createQuota, noQuota, quotaReached } from '../../../core/limits/quota.ts'

t.test('the mx namespace has no quota unless one is set for it', (t) => {
  const { limitOf: getLimit } = createQuota('quota_store', { limit: 5, namespaces: { acme: 7 } })
  t.same(['mx', 'acme', 'other'].map(getLimit), [Number.POSITIVE_INFINITY, 7, 5])
  t.equal(createQuota('quota_store', { limit: 5, namespaces: { mx: 9 } }).limitOf('mx'), 9)
  t.equal(noQuota('quota_store').limitOf('other'), Number.POSITIVE_INFINITY)
  t.end()
})

t.test('the error names quota, namespace, value and setting', (t) => {
  const use = { namespace: 'acme', limit: '5 programs', used: '5', remedy: 'remove programs' }
  t.match(quotaReached('runtime', 429, { name: 'quota_programs' }, use), {
    ...{ id: 'runtime', code: 429 },
    message:
      'quota_programs reached in namespace acme: 5 of 5 programs in use; remove programs, or raise the quota (quota_programs=acme=...)',
  })
  t.end()
})

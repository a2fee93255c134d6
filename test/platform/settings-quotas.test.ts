import t from 'tap'
import { createQuota } from '../../core/quota.ts'
import { QUOTA_SETTINGS } from '../../platform/settings-quotas.ts'

const { quotaStore, quotaPrograms } = QUOTA_SETTINGS

t.test('a quota is a limit for all namespaces but mx, and others for some by name', (t) => {
  const { limitOf } = createQuota('quota_store', quotaStore.parse(['2mb', 'acme=5mb', 'tb=none']))
  t.same(['other', 'acme', 'tb', 'mx', '__proto__'].map(limitOf), [
    ...[2 ** 21, 5 * 2 ** 20, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 2 ** 21],
  ])
  const named = createQuota('quota_programs', quotaPrograms.parse(['mx=7', 'tb=none']))
  t.same(['mx', 'tb', 'other'].map(named.limitOf), [7, Number.POSITIVE_INFINITY, 100])
  t.end()
})

t.test('a malformed quota is rejected, naming what is wrong', (t) => {
  const wrong: [readonly string[], RegExp][] = [
    [['x'], /size/],
    [['1mb', '2mb'], /one limit without a namespace/],
    [['a/b=1mb'], /namespace=limit/],
    [['a=1mb', 'a=2mb'], /names the namespace a twice/],
    [['a='], /size/],
  ]
  for (const [texts, message] of wrong) t.throws(() => quotaStore.parse(texts), { message })
  t.throws(() => quotaPrograms.parse(['a=1.5']), { message: /whole number/ })
  t.end()
})

import t from 'tap'
import { createQuota } from '../../../core/limits/quota.ts'
import { SIZE_OR_AUTO } from '../../../lib/values/amount.ts'
import { toEventsQuota, toStoreQuotas } from '../../../platform/settings/quotas.ts'
import { QUOTA_SETTINGS } from '../../../platform/settings/table/quotas.ts'

const { quotaStore, quotaConfig, quotaEvents, quotaPrograms } = QUOTA_SETTINGS

t.test('a quota limits every namespace except mx, with other limits by name', (t) => {
  const { limitOf: getLimit } = createQuota(
    'quota_store',
    quotaStore.parse(['2mb', 'acme=5mb', 'tb=none']),
  )
  t.same(['other', 'acme', 'tb', 'mx', '__proto__'].map(getLimit), [
    ...[2 ** 21, 5 * 2 ** 20, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 2 ** 21],
  ])
  const named = createQuota('quota_programs', quotaPrograms.parse(['mx=7', 'tb=none']))
  t.same(['mx', 'tb', 'other'].map(named.limitOf), [7, Number.POSITIVE_INFINITY, 100])
  t.end()
})

t.test('by default a namespace may use half of a limited store and of in-memory events', (t) => {
  const toLimits = (store: string, maxStore: string, texts: readonly string[]) => {
    const quotas = toStoreQuotas({
      ...{ store, maxStoreBytes: SIZE_OR_AUTO.parse([maxStore]) },
      ...{ quotaStore: quotaStore.parse(texts), quotaConfig: quotaConfig.parse(texts) },
    })
    return [quotas.store.limitOf('acme'), quotas.config.limitOf('acme')]
  }
  const mb = 1024 ** 2
  t.same(toLimits('memory', '256mb', ['auto']), [128 * mb, 64 * mb])
  t.same(toLimits('memory', '4mb', ['tb=1mb']), [2 * mb, mb])
  t.same(toLimits('memory', '4mb', ['3mb']), [3 * mb, 3 * mb])
  t.same(toLimits('memory', 'none', ['auto']), [1024 * mb, 64 * mb])
  t.same(toLimits('memory', 'auto', ['auto']), [128 * mb, 64 * mb])
  t.same(toLimits('lmdb', '256mb', ['auto']), [1024 * mb, 64 * mb])
  t.same(toLimits('postgres://db/mx', 'auto', ['auto']), [1024 * mb, 64 * mb])
  t.same(toLimits('postgres://db/mx', '100mb', ['auto']), [50 * mb, 25 * mb])
  const events = { quotaEvents: quotaEvents.parse(['auto']) }
  t.equal(toEventsQuota(events, 256 * mb).limitOf('acme'), 128 * mb)
  t.equal(toEventsQuota(events, Number.POSITIVE_INFINITY).limitOf('acme'), 4096 * mb)
  t.equal(toEventsQuota(events, 256 * mb).limitOf('mx'), Number.POSITIVE_INFINITY)
  t.end()
})

t.test('rejects a malformed quota with an error that shows the expected form', (t) => {
  const invalid: [readonly string[], RegExp][] = [
    [['x'], /size/],
    [['1mb', '2mb'], /one limit without a namespace/],
    [['a/b=1mb'], /namespace=limit/],
    [['a=1mb', 'a=2mb'], /contains the duplicate namespace a/],
    [['a='], /size/],
  ]
  for (const [texts, message] of invalid) t.throws(() => quotaStore.parse(texts), { message })
  t.throws(() => quotaPrograms.parse(['a=1.5']), { message: /whole number/ })
  t.end()
})

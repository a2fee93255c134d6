import t, { type Test } from 'tap'
import { createLmdbStore } from '../../../../adapters/store/lmdb.ts'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import type { QuotaCounter } from '../../../../core/contracts/request-quotas.ts'
import type { StoreAdapter } from '../../../../core/contracts/store.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { createRequestQuotas } from '../../../../services/auth/request-quotas/request-quotas.ts'
import { QUOTA_START_MS, testRequestQuotas } from '../../../contracts/request-quotas.ts'
import { openAuthParts } from '../../../fixtures/auth-parts.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const OWNER = { namespace: 'mx', account: 'jane' }
const JANE: QuotaCounter = { quota: 'requests', period: 'day', ...OWNER, apiKey: '' }
const KEY: QuotaCounter = { ...JANE, apiKey: '00112233445566ff' }
const ADAPTERS: Readonly<Record<string, (t: Test) => StoreAdapter>> = {
  memory: () => createMemoryStore(),
  lmdb: (t) => createLmdbStore({ folder: makeTempFolder(t, 'quotas') }),
}

for (const [name, createAdapter] of Object.entries(ADAPTERS))
  t.test(`${name}: keeps counts in the store`, (t) =>
    testRequestQuotas(t, async (t) => {
      const clock = { ms: QUOTA_START_MS }
      const nowMs = () => clock.ms
      const store = createStore(createAdapter(t), { nowMs })
      t.teardown(store.close)
      return { clock, quotas: createRequestQuotas({ store, nowMs, onEvent: () => {} }) }
    }),
  )

t.test('servers that share a store never exceed the limit together', async (t) => {
  const { store, nowMs } = await openAuthParts(t)
  const servers = Array.from({ length: 4 }, () =>
    createRequestQuotas({ store, nowMs, onEvent: () => {} }),
  )
  const leases = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      servers[i % servers.length]!.reserve({ counter: JANE, limit: 30, requests: 2 }),
    ),
  )
  t.equal(
    leases.reduce((sum, { granted }) => sum + granted, 0),
    30,
  )
})

t.test('counts survive a restart', async (t) => {
  const folder = makeTempFolder(t, 'quotas')
  const reserve = async (requests: number) => {
    const store = createStore(createLmdbStore({ folder }), { nowMs: () => QUOTA_START_MS })
    const nowMs = () => QUOTA_START_MS
    const quotas = createRequestQuotas({ store, nowMs, onEvent: () => {} })
    const lease = await quotas.reserve({ counter: JANE, limit: 1000, requests })
    await store.close()
    return lease.used
  }
  t.same([await reserve(5), await reserve(2)], [5, 7])
})

t.test('reports 80 % and 100 % once per period', async (t) => {
  const { requestQuotas: quotas, quotaEvents, clock } = await openAuthParts(t)
  const fill = async () => {
    while ((await quotas.reserve({ counter: KEY, limit: 10, requests: 1 })).granted > 0);
  }
  await fill()
  await fill()
  const { apiKey, account } = KEY
  t.match(quotaEvents, [
    { action: 'quota.warning', quota: 'requests', account, apiKey, used: 8, limit: 10 },
    { action: 'quota.exhausted', used: 10, limit: 10, time: clock.ms },
  ])
  t.equal(quotaEvents.length, 2)
  clock.ms += 86_400_000
  await fill()
  t.equal(quotaEvents.length, 4)
})

t.test('a reset sets the counts of an account to 0 and invalidates its leases', async (t) => {
  const { requestQuotas: quotas, quotaEvents } = await openAuthParts(t)
  const reserve = (counter = JANE, requests = 5) =>
    quotas.reserve({ counter, limit: 100, requests })
  const { epoch } = await reserve()
  for (const counter of [KEY, { ...KEY, period: 'month' } as const, { ...JANE, account: 'joe' }])
    await reserve(counter)
  t.equal(await quotas.reset('mx', { account: 'jane', apiKey: KEY.apiKey }, 'id'), 2)
  t.match([await reserve(JANE, 1), await reserve(KEY, 1)], [{ used: 6 }, { used: 1 }])
  t.equal(await quotas.reset('mx', { account: 'jane', quota: 'unknown' }, 'id'), 0)
  t.equal(await quotas.reset('mx', { account: 'jane' }, 'id'), 3)
  t.match(await reserve(JANE, 1), { used: 1 })
  await quotas.release({ counter: JANE, epoch, requests: 5 })
  t.match(await reserve(JANE, 1), { used: 2 }, 'the earlier lease is not subtracted')
  t.match(await reserve({ ...JANE, account: 'joe' }, 1), { used: 6 })
  t.same(quotaEvents, [])
})

t.test('lists the counts of the current period by account, paginated', async (t) => {
  const { requestQuotas: quotas } = await openAuthParts(t)
  for (const counter of [JANE, KEY, { ...JANE, account: 'joe' }])
    await quotas.reserve({ counter, limit: 100, requests: 2 })
  const first = await quotas.list('mx', { period: 'day', limit: 2 })
  t.match(first.usage, [
    { account: 'jane', apiKey: '', used: 2, limit: 100, startMs: Date.UTC(2027, 0, 15) },
    { account: 'jane', apiKey: KEY.apiKey },
  ])
  const rest = await quotas.list('mx', { period: 'day', limit: 2, after: first.next! })
  t.match(rest, { usage: [{ account: 'joe' }], next: undefined })
  t.match(await quotas.list('mx', { period: 'day', account: 'joe', limit: 9 }), {
    usage: [{ account: 'joe' }],
  })
  t.same((await quotas.list('mx', { period: 'month', limit: 9 })).usage, [])
  t.same((await quotas.list('acme', { period: 'day', limit: 9 })).usage, [])
})

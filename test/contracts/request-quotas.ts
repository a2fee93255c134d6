import type { Test } from 'tap'
import type { QuotaCounter, RequestQuotas } from '../../core/contracts/request-quotas.ts'

/** Request quotas under test, and their clock. */
export interface RequestQuotasSubject {
  readonly quotas: RequestQuotas
  readonly clock: { ms: number }
}

/** 2027-01-15 08:00:00.500 UTC. */
export const QUOTA_START_MS = 1_800_000_000_500
const DAY_MS = 86_400_000
const END_OF_DAY_MS = Date.UTC(2027, 0, 16)
const JANE: QuotaCounter = {
  ...{ quota: 'requests', period: 'day', namespace: 'mx', account: 'jane', apiKey: '' },
}

/** Suite for implementations of request quotas. The clock of each subject is at {@link QUOTA_START_MS}. */
export async function testRequestQuotas(
  t: Test,
  open: (t: Test) => Promise<RequestQuotasSubject>,
): Promise<void> {
  await t.test('counts reserved requests until the limit is reached', async (t) => {
    const { quotas, clock } = await open(t)
    const reserve = (requests: number, limit = 100) =>
      quotas.reserve({ counter: JANE, limit, requests })
    const first = await reserve(4)
    t.strictSame(first, {
      ...{ granted: 4, used: 4, epoch: first.epoch },
      leftMs: END_OF_DAY_MS - clock.ms,
    })
    let used = 4
    for (let granted = 1; granted > 0; ) {
      const lease = await reserve(50)
      granted = lease.granted
      used += granted
      t.equal(lease.used, used)
    }
    t.equal(used, 100)
    t.match(await reserve(1), { granted: 0, used: 100 })
    t.match(await reserve(5, 110), { granted: 1, used: 101 }, 'a higher limit applies immediately')
    t.match(await reserve(5, 50), { granted: 0, used: 101 })
  })

  await t.test('grants at most a tenth of the remaining requests, at least one', async (t) => {
    const { quotas } = await open(t)
    const reserve = async (limit: number) =>
      (await quotas.reserve({ counter: JANE, limit, requests: 1000 })).granted
    t.same([await reserve(1000), await reserve(1000)], [100, 90])
    t.same([await reserve(195), await reserve(191)], [1, 0])
  })

  await t.test('concurrent reservations never exceed the limit', async (t) => {
    const { quotas } = await open(t)
    const leases = await Promise.all(
      Array.from({ length: 60 }, () => quotas.reserve({ counter: JANE, limit: 20, requests: 3 })),
    )
    t.equal(
      leases.reduce((sum, { granted }) => sum + granted, 0),
      20,
    )
  })

  await t.test('released requests can be reserved again', async (t) => {
    const { quotas } = await open(t)
    const { granted, epoch } = await quotas.reserve({ counter: JANE, limit: 100, requests: 10 })
    await quotas.release({ counter: JANE, epoch, requests: granted - 3 })
    t.match(await quotas.reserve({ counter: JANE, limit: 100, requests: 1 }), { used: 4 })
    await quotas.release({ counter: JANE, epoch, requests: 1000 })
    t.match(await quotas.reserve({ counter: JANE, limit: 100, requests: 1 }), { used: 1 })
  })

  await t.test('each counter counts separately', async (t) => {
    const { quotas } = await open(t)
    const counters: QuotaCounter[] = [
      JANE,
      { ...JANE, quota: 'other' },
      { ...JANE, period: 'month' },
      { ...JANE, namespace: 'acme' },
      { ...JANE, account: 'https://id.example.com#jane/doe' },
      { ...JANE, account: 'x'.repeat(1000) },
      { ...JANE, apiKey: '00112233445566ff' },
    ]
    for (const counter of counters)
      t.match(await quotas.reserve({ counter, limit: 10, requests: 1 }), { granted: 1, used: 1 })
    for (const counter of counters)
      t.match(await quotas.reserve({ counter, limit: 10, requests: 1 }), { used: 2 })
  })

  await t.test('counts start again with each UTC day and month', async (t) => {
    const { quotas, clock } = await open(t)
    const reserve = (period: 'day' | 'month') =>
      quotas.reserve({ counter: { ...JANE, period }, limit: 10, requests: 1 })
    const [day, month] = [await reserve('day'), await reserve('month')]
    clock.ms = END_OF_DAY_MS
    const next = await reserve('day')
    t.match(next, { used: 1, leftMs: DAY_MS })
    t.not(next.epoch, day.epoch)
    t.match(await reserve('month'), { used: 2, epoch: month.epoch, leftMs: 16 * DAY_MS })
    await quotas.release({ counter: JANE, epoch: day.epoch, requests: 1 })
    t.match(await reserve('day'), { used: 2 }, 'the lease of another day is not released')
    clock.ms = Date.UTC(2027, 1)
    t.match(await reserve('month'), { used: 1, leftMs: 28 * DAY_MS })
  })
}

import t from 'tap'
import { findPeriod } from '../../../../services/auth/request-quotas/period.ts'

t.test('a period is a day or month in UTC', async (t) => {
  const lastMs = Date.UTC(2026, 11, 31, 23, 59, 59, 999)
  t.strictSame(findPeriod('day', lastMs), {
    ...{ name: '2026-12-31', startMs: Date.UTC(2026, 11, 31), endMs: Date.UTC(2027, 0, 1) },
  })
  t.strictSame(findPeriod('month', lastMs), {
    ...{ name: '2026-12', startMs: Date.UTC(2026, 11, 1), endMs: Date.UTC(2027, 0, 1) },
  })
  t.match(findPeriod('day', lastMs + 1), { name: '2027-01-01', startMs: lastMs + 1 })
  t.equal(findPeriod('month', Date.UTC(2028, 1, 10)).endMs, Date.UTC(2028, 2, 1))
})

import t from 'tap'
import { readUsage, toPercent, type UsageMessage } from '../../../web/quotas/usage.ts'

const USAGE: UsageMessage = {
  ...{ quota: 'requests', period: 'day', account: 'jane', api_key: '', used: 1, limit: 3 },
  ends: 1_800_000_000,
}

t.test('reads all pages of the day and the month', async (t) => {
  const read: string[] = []
  const usage = await readUsage(async (period, after) => {
    read.push(`${period} ${after}`)
    const entry = { ...USAGE, period, account: `${after}x` }
    return after === '' ? { usage: [entry], next: 'x' } : { usage: [entry] }
  })
  t.same(read, ['day ', 'day x', 'month ', 'month x'])
  t.same(
    usage.map(({ period, account }) => `${period} ${account}`),
    ['day x', 'day xx', 'month x', 'month xx'],
  )
})

t.test('the percentage is 100 only if the limit is reached', async (t) => {
  t.same(
    [0, 1, 2, 3, 4].map((used) => toPercent({ ...USAGE, used })),
    [0, 33, 66, 100, 133],
  )
  t.equal(toPercent({ ...USAGE, limit: 0 }), 0)
})

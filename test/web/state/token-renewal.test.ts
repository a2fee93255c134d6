import t from 'tap'
import { toRenewalMs } from '../../../web/state/token-renewal.ts'

const MINUTE_MS = 60_000
const DATE = 'Mon, 02 Jan 2040 10:00:00 GMT'
const DATE_MS = Date.parse(DATE)
const EXPIRES = DATE_MS + 15 * MINUTE_MS

t.test(
  'renews a session after two thirds of its lifetime, regardless of the browser clock',
  async (t) => {
    for (const minutes of [0, 15, -8, 100_000])
      t.equal(toRenewalMs(EXPIRES, DATE, DATE_MS + minutes * MINUTE_MS), 10 * MINUTE_MS)
    t.equal(toRenewalMs(new Date(EXPIRES).toISOString(), DATE, 0), 10 * MINUTE_MS)
  },
)

t.test('uses the browser clock if the server sends no date', async (t) => {
  for (const date of [null, 'yesterday'])
    t.equal(toRenewalMs(EXPIRES, date, DATE_MS + 12 * MINUTE_MS), 2 * MINUTE_MS)
})

t.test('limits the rate of renewals', async (t) => {
  t.equal(toRenewalMs(DATE_MS + 10, DATE), 1000)
  t.equal(toRenewalMs(DATE_MS - 1, DATE), MINUTE_MS)
})

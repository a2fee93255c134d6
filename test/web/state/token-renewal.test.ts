import t from 'tap'
import { toRenewalMs } from '../../../web/state/token-renewal.ts'

const MINUTE_MS = 60_000
const DATE = 'Mon, 02 Jan 2040 10:00:00 GMT'
const TOLD_MS = Date.parse(DATE)
const EXPIRES = TOLD_MS + 15 * MINUTE_MS

t.test(
  'a login is renewed after two thirds of it, whatever the clock of the browser',
  async (t) => {
    for (const minutes of [0, 15, -8, 100_000])
      t.equal(toRenewalMs(EXPIRES, DATE, TOLD_MS + minutes * MINUTE_MS), 10 * MINUTE_MS)
    t.equal(toRenewalMs(new Date(EXPIRES).toISOString(), DATE, 0), 10 * MINUTE_MS)
  },
)

t.test('without a date of the server it is the clock of the browser', async (t) => {
  for (const date of [null, 'yesterday'])
    t.equal(toRenewalMs(EXPIRES, date, TOLD_MS + 12 * MINUTE_MS), 2 * MINUTE_MS)
})

t.test('the server is not asked without end', async (t) => {
  t.equal(toRenewalMs(TOLD_MS + 10, DATE), 1000)
  t.equal(toRenewalMs(TOLD_MS - 1, DATE), MINUTE_MS)
})

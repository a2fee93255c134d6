import t from 'tap'
import { isFinalStatus } from '../../../core/http/final-status.ts'

t.test('isFinalStatus accepts integers from 200 to 599 only', async (t) => {
  for (const status of [200, 204, 304, 404, 599]) t.ok(isFinalStatus(status), `${status}`)
  for (const status of [0, 100, 101, 199, 600, 999, 200.5, -200, Number.NaN, '200', undefined])
    t.notOk(isFinalStatus(status), `${status}`)
})

import t from 'tap'
import { ServiceTable } from '../../../core/metrics/service-counters.ts'

t.test(
  'counters per service are limited to 1000 services, further ones count as _OTHER',
  async (t) => {
    const table = new ServiceTable()
    table.of('greeter').retries++
    table.of('greeter').ejections += 2
    t.same([...table.entries()], [['greeter', { retries: 1, ejections: 2, overflows: 0 }]])
    for (let i = 0; i < 5000; i++) table.of(`s${i}`).retries++
    t.equal([...table.entries()].length, 1001)
    t.equal(table.of('_OTHER').retries, 5000 - 999)
  },
)

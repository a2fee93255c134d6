import t from 'tap'
import { formatSpan } from '../../cli/span.ts'

t.test('a span has its units from the largest one down', async (t) => {
  t.equal(formatSpan(0), '0s')
  t.equal(formatSpan(61), '1m1s')
  t.equal(formatSpan(86_400 + 189), '1d0h3m9s')
})

import t from 'tap'
import { createThrottle } from '../../../services/auth/audit-throttle.ts'

t.test('reports a name once per minute, and at most a hundred names', (t) => {
  let now = 1_000_000
  const isFirst = createThrottle(() => now)
  t.ok(isFirst('a'))
  t.notOk(isFirst('a'))
  now += 59_999
  t.notOk(isFirst('a'))
  for (let i = 1; i < 100; i++) t.ok(isFirst(`b${i}`))
  t.notOk(isFirst('c'))
  now += 1
  t.ok(isFirst('a'))
  t.ok(isFirst('c'))
  t.end()
})

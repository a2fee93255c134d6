import t from 'tap'
import { formatExpiry, parseExpiry } from '../../../web/store/expiry.ts'

t.test('a record ends after what was typed, in seconds', async (t) => {
  const cases: [string, number][] = [
    ['', 0],
    ['never', 0],
    ['none', 0],
    ['90', 90],
    ['90s', 90],
    ['10m', 600],
    [' 2h ', 7200],
    ['1d', 86_400],
    ['1ms', 1],
  ]
  for (const [typed, seconds] of cases) t.equal(parseExpiry(typed), seconds, typed)
})

t.test('what is no span is refused', async (t) => {
  t.throws(() => parseExpiry('soon'), /must be a duration such as/)
  t.throws(() => parseExpiry('0'), /longer than nothing/)
  t.throws(() => parseExpiry('999999999d'), /must be at most/)
})

t.test('what is left is told in units', async (t) => {
  t.equal(formatExpiry(0), 'never')
  t.equal(formatExpiry(543), '9m3s')
})

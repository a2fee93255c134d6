import t from 'tap'
import { formatExpiry, parseExpiry } from '../../../web/store/expiry.ts'

t.test('parses an expiry into seconds', async (t) => {
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
  for (const [text, seconds] of cases) t.equal(parseExpiry(text), seconds, text)
})

t.test('rejects an invalid expiry', async (t) => {
  t.throws(() => parseExpiry('soon'), /must be a duration such as/)
  t.throws(() => parseExpiry('0'), /must be greater than 0/)
  t.throws(() => parseExpiry('999999999d'), /must be at most/)
})

t.test('formats the remaining lifetime in units', async (t) => {
  t.equal(formatExpiry(0), 'never')
  t.equal(formatExpiry(543), '9m3s')
})

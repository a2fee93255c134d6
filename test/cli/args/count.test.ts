import t from 'tap'
import { parseCount } from '../../../cli/args/count.ts'

t.test('a count is a whole number, 0 if missing', async (t) => {
  t.equal(parseCount('10', 'limit'), 10)
  t.equal(parseCount(undefined, 'limit'), 0)
  for (const text of ['', '-1', '1.5', '1e3', 'few'])
    t.throws(() => parseCount(text, 'limit'), {
      message: `--limit must be a whole number, got ${text}`,
      status: 2,
    })
})

import t from 'tap'
import { collect } from '../../../lib/async/collect.ts'

t.test('all of what comes is collected in order', async (t) => {
  async function* count() {
    yield 1
    yield 2
  }
  t.same(await collect(count()), [1, 2])
})

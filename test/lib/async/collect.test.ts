import t from 'tap'
import { collect } from '../../../lib/async/collect.ts'

t.test('collect returns all values in order', async (t) => {
  async function* count() {
    yield 1
    yield 2
  }
  t.same(await collect(count()), [1, 2])
})

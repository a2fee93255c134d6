import t from 'tap'
import { collect } from '../../../lib/async/collect.ts'
import { take } from '../../../lib/async/take.ts'

t.test('as many are taken as are wanted, and then it is left', async (t) => {
  let isLeft = false
  async function* count() {
    try {
      for (let i = 1; i < 4; i++) yield i
    } finally {
      isLeft = true
    }
  }
  t.same(await collect(take(count(), 2)), [1, 2])
  t.ok(isLeft)
  t.same(await collect(take(count(), 0)), [1, 2, 3])
})

import t from 'tap'
import { collect } from '../../../lib/async/collect.ts'
import { take } from '../../../lib/async/take.ts'

t.test(
  'take yields the requested number of values and ends the source; 0 yields all',
  async (t) => {
    let hasReturned = false
    async function* count() {
      try {
        for (let i = 1; i < 4; i++) yield i
      } finally {
        hasReturned = true
      }
    }
    t.same(await collect(take(count(), 2)), [1, 2])
    t.ok(hasReturned)
    t.same(await collect(take(count(), 0)), [1, 2, 3])
  },
)

import t from 'tap'
import { createResponseCaches } from '../../../platform/plugins/response-caches.ts'

t.test('shares caches with equal ids until all users have released them', (t) => {
  const caches = createResponseCaches()
  const closed: string[] = []
  const open = (id: string, removed: number) =>
    caches.open(id, () => ({ purge: () => removed, close: () => closed.push(id) }))
  const first = open('a', 1)
  const second = open('a', 2)
  const other = open('b', 10)
  t.equal(first.cache, second.cache)
  t.equal(caches.purge({}), 11)
  first.release()
  first.release()
  t.strictSame(closed, [])
  second.release()
  other.release()
  t.strictSame(closed, ['a', 'b'])
  t.equal(caches.purge({}), 0)
  t.not(open('a', 3).cache, first.cache)
  t.end()
})

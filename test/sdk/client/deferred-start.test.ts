import t from 'tap'
import { beginLater, beginNow } from '../../../sdk/client/deferred-start.ts'

t.test('deferred work starts once, at the end of the tick or earlier on request', async (t) => {
  const client = {}
  const started: string[] = []
  beginLater(client, () => started.push('a'))
  beginLater({}, () => started.push('of another'))
  t.same(started, [])
  await Promise.resolve()
  t.same(started, ['a', 'of another'])
  beginLater(client, () => started.push('b'))
  beginLater(client, () => started.push('c'))
  beginLater({}, () => started.push('d'))
  beginNow(client)
  t.same(started, ['a', 'of another', 'b', 'c'])
  await Promise.resolve()
  t.same(started, ['a', 'of another', 'b', 'c', 'd'])
  beginNow(client)
  t.equal(started.length, 5)
})

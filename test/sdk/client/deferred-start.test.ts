import t from 'tap'
import { beginLater, beginNow } from '../../../sdk/client/deferred-start.ts'

t.test('deferred work starts once, at the end of the tick or earlier on request', async (t) => {
  const client = {}
  const begun: string[] = []
  beginLater(client, () => begun.push('a'))
  beginLater({}, () => begun.push('of another'))
  t.same(begun, [])
  await Promise.resolve()
  t.same(begun, ['a', 'of another'])
  beginLater(client, () => begun.push('b'))
  beginLater(client, () => begun.push('c'))
  beginLater({}, () => begun.push('d'))
  beginNow(client)
  t.same(begun, ['a', 'of another', 'b', 'c'])
  await Promise.resolve()
  t.same(begun, ['a', 'of another', 'b', 'c', 'd'])
  beginNow(client)
  t.equal(begun.length, 5)
})

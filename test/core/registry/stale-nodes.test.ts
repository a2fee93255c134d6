import t from 'tap'
import { StaleNodes } from '../../../core/registry/stale-nodes.ts'

t.test('a missing node is retained for 95 s, even if it is reported missing again', async (t) => {
  let now = 0
  const staleNodes = new StaleNodes<string>(() => now)
  staleNodes.add('a', 'one')
  now = 50_000
  staleNodes.add('a', 'another')
  staleNodes.add('b', 'two')
  t.same(staleNodes.items, ['one', 'two'])
  now = 94_999
  t.same(staleNodes.expire(), [])
  now = 95_000
  t.same(staleNodes.expire(), ['one'])
  t.same(staleNodes.items, ['two'])
  now = 145_000
  t.same(staleNodes.expire(), ['two'])
  t.equal(staleNodes.size, 0)
})

t.test(
  'a released node is no longer retained, and is retained for 95 s if it goes missing again',
  async (t) => {
    let now = 0
    const staleNodes = new StaleNodes<string>(() => now)
    staleNodes.add('a', 'one')
    t.ok(staleNodes.release('a'))
    t.notOk(staleNodes.release('a'))
    now = 90_000
    staleNodes.add('b', 'two')
    staleNodes.add('a', 'one')
    now = 184_999
    t.same(staleNodes.expire(), [])
    staleNodes.releaseAll()
    t.equal(staleNodes.size, 0)
  },
)

import t from 'tap'
import { StaleNodes } from '../../../core/registry/stale-nodes.ts'

t.test(
  'a missing node is retained for 95 s, and missing it again does not extend that',
  async (t) => {
    let now = 0
    const held = new StaleNodes<string>(() => now)
    held.add('a', 'one')
    now = 50_000
    held.add('a', 'another')
    held.add('b', 'two')
    t.same(held.items, ['one', 'two'])
    now = 94_999
    t.same(held.expire(), [])
    now = 95_000
    t.same(held.expire(), ['one'])
    t.same(held.items, ['two'])
    now = 145_000
    t.same(held.expire(), ['two'])
    t.equal(held.size, 0)
  },
)

t.test(
  'a released node is no longer retained, and is retained for 95 s if it goes missing again',
  async (t) => {
    let now = 0
    const held = new StaleNodes<string>(() => now)
    held.add('a', 'one')
    t.ok(held.release('a'))
    t.notOk(held.release('a'))
    now = 90_000
    held.add('b', 'two')
    held.add('a', 'one')
    now = 184_999
    t.same(held.expire(), [])
    held.releaseAll()
    t.equal(held.size, 0)
  },
)

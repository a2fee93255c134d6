import t from 'tap'
import { findOpen } from '../../../../web/components/tree/open-members.ts'

const fill = <T>(count: number, of: () => T): T[] => Array.from({ length: count }, of)

t.test('expands objects and lists up to the requested level', async (t) => {
  const value = { a: { b: { c: { d: 1 } } }, list: [[]] }
  t.same([...findOpen(value, 2)], [value, value.a, value.list])
  t.equal(findOpen(value, 3).has(value.a.b), true)
  t.equal(findOpen(value, 3).has(value.a.b.c), false)
  t.equal(findOpen(value, 0).size, 0)
  t.equal(findOpen('text', 3).size, 0)
})

t.test('expands at most 2000 members initially at any nesting depth', async (t) => {
  const value = fill(100, () => fill(100, () => fill(100, () => 1)))
  const open = findOpen(value, 3)
  const rendered = [...open].reduce<number>((sum, each) => sum + (each as unknown[]).length, 0)
  t.equal(rendered, 2000)
  t.ok(open.has(value) && open.has(value[0]) && !open.has(value[99]))
  const long = fill(500_000, () => 1)
  t.ok(findOpen({ long }, 3).has(long), 'the beginning of a long list')
})

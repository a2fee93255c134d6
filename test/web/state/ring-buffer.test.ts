import t from 'tap'
import { Recent } from '../../../web/state/ring-buffer.ts'

const open = (count: number, bytes: number): Recent<string> =>
  new Recent({ count, bytes, sizeOf: ({ length }) => length })

t.test('retains a maximum number of items', async (t) => {
  const recent = open(3, 1000)
  t.same(recent.all, [])
  for (let i = 0; i < 100; i++) recent.push(`${i}`)
  t.same(recent.all, ['97', '98', '99'])
  t.equal(recent.all, recent.all, 'unchanged until the next push')
})

t.test('retains a maximum number of bytes', async (t) => {
  const recent = open(100, 10)
  for (const text of ['aaaa', 'bbbb', 'cc']) recent.push(text)
  t.same(recent.all, ['aaaa', 'bbbb', 'cc'])
  recent.push('d')
  t.same(recent.all, ['bbbb', 'cc', 'd'])
  recent.push('longer than all')
  t.same(recent.all, ['longer than all'], 'the newest item is always retained')
  recent.push('e')
  t.same(recent.all, ['e'])
})

t.test('clear drops all items', async (t) => {
  const recent = open(2, 4)
  for (const text of ['aaa', 'bbb']) recent.push(text)
  recent.clear()
  t.same(recent.all, [])
  for (const text of ['cc', 'dd']) recent.push(text)
  t.same(recent.all, ['cc', 'dd'])
})

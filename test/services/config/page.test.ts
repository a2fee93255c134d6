import t from 'tap'
import { toPage } from '../../../services/config/page.ts'
import { parseStored } from '../../../services/config/tree/tree-text.ts'

const TREE = parseStored(
  '{"b":{"2":"0","10":"0","a":{"x":["s"]}},"a":"0","a-b":{"c":"0"},"c":{},"b-":"0","b0":"0"}',
)
const paths = (path = '', after = '', limit = 100) =>
  toPage(TREE, path, after, limit).entries.map((entry) => entry.path)

t.test('lists leaves sorted by path', async (t) => {
  const all = ['a', 'a-b.c', 'b-', 'b.10', 'b.2', 'b.a.x', 'b0']
  t.strictSame(paths(), all)
  t.strictSame([...all].sort(), all)
  t.strictSame(paths('b'), ['b.10', 'b.2', 'b.a.x'])
  t.strictSame(paths('a'), ['a'])
  for (const path of ['c', 'x', 'a.b', 'b.2.x']) t.strictSame(paths(path), [], path)
})

t.test('marks secret leaves without their values', async (t) => {
  t.strictSame(toPage(TREE, 'b', 'b.10', 10), {
    entries: [
      { path: 'b.2', secret: false },
      { path: 'b.a.x', secret: true },
    ],
  })
})

t.test('returns the complete list in pages of any size', async (t) => {
  for (let limit = 1; limit < 9; limit++) {
    const listed: string[] = []
    let next: string | undefined = ''
    while (next !== undefined) {
      const page = toPage(TREE, '', next, limit)
      t.ok(page.entries.length <= limit)
      listed.push(...page.entries.map(({ path }) => path))
      next = page.next
    }
    t.strictSame(listed, paths(), `${limit}`)
  }
})

t.test('continues a page after a deleted path', async (t) => {
  t.strictSame(paths('', 'b.11'), ['b.2', 'b.a.x', 'b0'])
  t.strictSame(paths('', 'b'), ['b-', 'b.10', 'b.2', 'b.a.x', 'b0'])
  t.strictSame(paths('', 'b.a.x.y'), ['b0'])
  t.strictSame(paths('', 'z'), [])
  t.strictSame(paths('b', 'a'), ['b.10', 'b.2', 'b.a.x'])
})

import t from 'tap'
import {
  diffTrees,
  findNode,
  formatNode,
  isSecret,
  joinPath,
  parseTree,
  walkValues,
} from '../../../web/config/tree.ts'

const TEXT = '{"b":{"max":9007199254740993,"list":[1,{"x":2}]},"a":"[secret]","c":{}}'

t.test('parses a tree sorted by name, with values as source text', async (t) => {
  const tree = parseTree(TEXT)
  t.strictSame(
    [...walkValues(tree)],
    [
      ['a', '"[secret]"'],
      ['b.list', '[1,{"x":2}]'],
      ['b.max', '9007199254740993'],
      ['c', '{}'],
    ],
  )
  t.equal(
    formatNode(tree),
    '{"a":"[secret]","b":{"list":[1,{"x":2}],"max":9007199254740993},"c":{}}',
  )
})

t.test('finds the node at a path', async (t) => {
  const tree = parseTree(TEXT)
  t.strictSame(findNode(tree, 'b.max'), { kind: 'value', text: '9007199254740993' })
  t.equal(findNode(tree, ''), tree)
  t.equal(findNode(tree, 'b.max.more'), undefined)
  t.equal(findNode(tree, 'toString'), undefined)
  t.ok(isSecret(findNode(tree, 'a')!))
  t.notOk(isSecret(findNode(tree, 'b')!))
  t.equal(joinPath(joinPath('', 'b'), 'max'), 'b.max')
})

t.test('reports differences between versions by path', async (t) => {
  t.strictSame(
    diffTrees(parseTree('{"a":1,"b":{"c":true},"d":"x"}'), parseTree('{"a":2,"b":{},"d":"x"}')),
    [
      { path: 'a', before: '1', after: '2' },
      { path: 'b', before: undefined, after: '{}' },
      { path: 'b.c', before: 'true', after: undefined },
    ],
  )
  t.strictSame(diffTrees(parseTree(TEXT), parseTree(TEXT)), [])
})

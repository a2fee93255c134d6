import t from 'tap'
import {
  type ConfigMap,
  type ConfigNode,
  EMPTY,
  findNode,
  holdsSecret,
  isMap,
  mapLeaves,
  removeNode,
} from '../../../../services/config/tree/tree.ts'
import { formatTreeJson, parseStored } from '../../../../services/config/tree/tree-text.ts'

const TREE: ConfigMap = parseStored('{"a":{"b":"1","c":{"d":["sealed"]}},"e":"[2]","f":{}}')
const find = (path: string) => {
  const node = findNode(TREE, path.split('.'))
  return node && formatTreeJson(node)
}

t.test('finds a leaf, a map or nothing at a path', async (t) => {
  t.equal(findNode(TREE, []), TREE)
  t.equal(find('a.b'), '1')
  t.equal(find('a.c'), '{"d":"[secret]"}')
  t.equal(find('f'), '{}')
  for (const path of ['x', 'a.x', 'a.b.x', 'e.0', 'toString', 'a.__proto__', 'f.x'])
    t.equal(find(path), undefined, path)
})

t.test('removes a leaf or a map and keeps its parent', async (t) => {
  const remove = (path: string) => formatTreeJson(removeNode(TREE, path.split('.')))
  t.equal(remove('a.b'), '{"a":{"c":{"d":"[secret]"}},"e":[2],"f":{}}')
  t.equal(remove('a.c.d'), '{"a":{"b":1,"c":{}},"e":[2],"f":{}}')
  t.equal(remove('a'), '{"e":[2],"f":{}}')
  t.equal(formatTreeJson(removeNode(TREE, [])), '{}')
  t.equal(
    formatTreeJson(TREE),
    '{"a":{"b":1,"c":{"d":"[secret]"}},"e":[2],"f":{}}',
    'the original tree is unchanged',
  )
})

t.test('returns the same tree if there is nothing to remove', async (t) => {
  for (const path of ['x', 'a.x', 'a.b.x', 'e.0', 'toString'])
    t.equal(removeNode(TREE, path.split('.')), TREE, path)
  t.equal(removeNode(EMPTY, []), EMPTY)
})

t.test('detects secrets anywhere in a map', async (t) => {
  t.ok(holdsSecret(TREE))
  t.ok(holdsSecret(findNode(TREE, ['a', 'c', 'd'])!))
  t.notOk(holdsSecret(findNode(TREE, ['e'])!))
  t.notOk(holdsSecret(findNode(TREE, ['f'])!))
  t.notOk(isMap(findNode(TREE, ['e'])!))
})

t.test('replaces leaves and shares unchanged nodes', async (t) => {
  const visited: string[] = []
  const same = mapLeaves(TREE, ({ names, leaf }) => {
    visited.push(names.join('.'))
    return leaf
  })
  t.equal(same, TREE)
  t.strictSame(visited, ['a.b', 'a.c.d', 'e'])
  const other: ConfigNode = mapLeaves(TREE, ({ leaf }) =>
    leaf.secret ? { text: '"x"', secret: false } : leaf,
  )
  t.equal(formatTreeJson(other), '{"a":{"b":1,"c":{"d":"x"}},"e":[2],"f":{}}')
  const inner = findNode(TREE, ['a', 'c'])!
  t.equal(
    formatTreeJson(
      mapLeaves(inner, ({ names }) => ({ text: JSON.stringify(names.join('.')), secret: false }), [
        'x',
      ]),
    ),
    '{"d":"x.d"}',
  )
  t.equal(findNode(other as ConfigMap, ['f']), TREE.get('f'))
})

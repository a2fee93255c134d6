import fc from 'fast-check'
import t from 'tap'
import { applyPatch, isAbsent, toPatch } from '../../../../services/config/tree/patch.ts'
import { type ConfigMap, EMPTY, isMap } from '../../../../services/config/tree/tree.ts'
import { formatStored, parseStored } from '../../../../services/config/tree/tree-text.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

const parse = (tree: object): ConfigMap => parseStored(JSON.stringify(tree))
const FROM = parse({ a: { b: '1', c: '2', d: { e: '3' } }, f: '4', g: { h: '5' }, i: {} })

t.test('contains the previous nodes by path', async (t) => {
  const to = parse({ a: { b: '1', d: { e: '3', x: '8' } }, g: '7', i: { j: ['s'] } })
  t.strictSame(JSON.parse(formatStored(toPatch(FROM, to))), {
    'a.b': '1',
    'a.c': '',
    'a.d.e': '3',
    'a.d.x': '8',
    f: '',
    g: '7',
    'i.j': ['s'],
  })
})

t.test('omits values that both trees share', async (t) => {
  const to = new Map(FROM).set('f', { text: '9', secret: false })
  t.equal(formatStored(toPatch(FROM, to)), '{"f":"9"}')
  t.equal(toPatch(FROM, FROM).size, 0)
})

t.test('represents absent nodes by an empty text', async (t) => {
  const patch = toPatch(parse({ a: '""', b: '1' }), parse({ a: '"x"', c: '""' }))
  t.strictSame(
    [...patch].map(([path, node]) => [path, isAbsent(node)]),
    [
      ['a', false],
      ['b', true],
      ['c', false],
    ],
  )
  t.equal(isAbsent(EMPTY), false)
})

t.test('leaves a patched tree unchanged', async (t) => {
  const before = formatStored(FROM)
  const patched = applyPatch(FROM, toPatch(FROM, EMPTY))
  t.equal(formatStored(patched), '{}')
  t.equal(formatStored(FROM), before)
  t.equal(applyPatch(FROM, toPatch(FROM, parse({ x: '1' }))).get('a'), undefined)
})

const Leaf = fc.oneof(
  fc.constantFrom('1', '""', 'null', '[]'),
  fc.tuple(fc.constantFrom('s1', 's2')),
)
const { tree: Tree } = fc.letrec<{ tree: object; node: unknown }>((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { noNullPrototype: true }),
  node: fc.oneof({ maxDepth: 4 }, Leaf, tie('tree')),
}))

/** Contents of a tree, independent of the order. */
function sort(tree: ConfigMap): object {
  const entries = [...tree].map(([name, node]) => [name, isMap(node) ? sort(node) : node] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

t.test('restores one tree from any other with the patch, even after storing it', async (t) => {
  fc.assert(
    fc.property(Tree, Tree, (one, two) => {
      const from = parse(one)
      const to = parse(two)
      const patch = parseStored(formatStored(toPatch(from, to)))
      t.strictSame(sort(applyPatch(from, patch)), sort(to))
    }),
    { numRuns: scaleRuns(500) },
  )
})

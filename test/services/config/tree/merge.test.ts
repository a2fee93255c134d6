import t from 'tap'
import { type Sealer, setNode } from '../../../../services/config/tree/merge.ts'
import { parseValue } from '../../../../services/config/tree/parse-value.ts'
import { splitConfigPath } from '../../../../services/config/tree/path.ts'
import { type ConfigMap, EMPTY } from '../../../../services/config/tree/tree.ts'
import { formatTreeJson } from '../../../../services/config/tree/tree-text.ts'

const ID = 'config.Config.Set'
let sealed = 0
/** A sealer that returns value and path as text, with a counter. */
const SEALER: Sealer = {
  seal: (names, text) => `${++sealed} ${names.join('.')} ${text}`,
  open: (_names, text) => text.split(' ').slice(2).join(' '),
}

function set(tree: ConfigMap, path: string, value: unknown, secret = false) {
  const names = splitConfigPath(path)
  const input = parseValue(JSON.stringify(value), names, ID)
  return setNode(tree, names, input, { secret, sealer: SEALER, id: ID })
}

const build = (...values: unknown[]) =>
  values.reduce<ConfigMap>((tree, value) => set(tree, '', value).tree, EMPTY)
/** Secrets with their value and path. */
const reveal = (tree: ConfigMap) =>
  JSON.parse(formatTreeJson(tree, [], ({ leaf }) => `{"secret":${SEALER.open([], leaf.text)}}`))

t.test('matches the original test vector', async (t) => {
  const tree = build({ a: 1, b: { b1: 2 }, c: 3 }, { d: 4, b: { b2: 2.2 } })
  t.equal(formatTreeJson(tree), '{"a":1,"b":{"b1":2,"b2":2.2},"c":3,"d":4}')
})

t.test('merges maps leaf by leaf and replaces anything else', async (t) => {
  for (const [before, path, value, after] of [
    [{}, 'a.b.c', 1, { a: { b: { c: 1 } } }],
    [{ a: { b: 1 } }, 'a.c', 2, { a: { b: 1, c: 2 } }],
    [{ a: { b: { c: 1 } } }, 'a', { b: { d: 2 }, e: 3 }, { a: { b: { c: 1, d: 2 }, e: 3 } }],
    [{ a: { b: 1 } }, 'a', 5, { a: 5 }],
    [{ a: { b: 1 } }, 'a', null, { a: null }],
    [{ a: { b: 1 } }, 'a', [1], { a: [1] }],
    [{ a: 5 }, 'a', { b: 1 }, { a: { b: 1 } }],
    [{ a: 5 }, 'a.b', 1, { a: { b: 1 } }],
    [{ a: 5 }, 'a', {}, { a: {} }],
    [{ a: { b: 1 } }, 'a', {}, { a: { b: 1 } }],
    [{ a: [1, { b: 2 }] }, 'a', [{ c: 3 }], { a: [{ c: 3 }] }],
    [{ a: 1 }, '', { b: 2 }, { a: 1, b: 2 }],
  ] as const)
    t.strictSame(
      reveal(set(build(before), path, value).tree),
      after,
      JSON.stringify([before, path, value]),
    )
})

t.test('returns the same tree for unchanged values', async (t) => {
  const tree = set(build({ a: { b: 1, c: [1] }, d: {} }), 's', 'x', true).tree
  for (const [path, value] of [
    ['a.b', 1],
    ['a', { c: [1] }],
    ['a', {}],
    ['d', {}],
    ['', {}],
    ['', { a: { b: 1 }, s: 'x' }],
    ['s', 'x'],
  ] as const)
    t.equal(set(tree, path, value).tree, tree, path)
  t.equal(set(tree, 's', 'x', true).tree, tree)
  t.not(set(tree, 'a.b', 2).tree, tree)
})

t.test('makes every leaf of a secret value secret', async (t) => {
  const { tree, newlySecret } = set(build({ a: { b: 1 } }), 'a', { c: { d: true, e: [1] } }, true)
  t.strictSame(reveal(tree), { a: { b: 1, c: { d: { secret: true }, e: { secret: [1] } } } })
  t.strictSame(newlySecret, [
    ['a', 'c', 'd'],
    ['a', 'c', 'e'],
  ])
  t.equal(formatTreeJson(tree), '{"a":{"b":1,"c":{"d":"[secret]","e":"[secret]"}}}')
})

t.test('a value that replaces a secret remains secret', async (t) => {
  const secret = (value: unknown) => set(EMPTY, 'a', value, true).tree
  t.strictSame(set(secret(1), 'a', 2).newlySecret, [])
  t.strictSame(reveal(set(secret(1), 'a', 2).tree), { a: { secret: 2 } })
  t.strictSame(reveal(set(secret(1), '', { a: 2, b: 3 }).tree), { a: { secret: 2 }, b: 3 })
  t.strictSame(reveal(set(secret(1), 'a', { b: { c: 2 } }).tree), {
    a: { b: { c: { secret: 2 } } },
  })
  t.strictSame(reveal(set(secret(1), 'a.b', 2).tree), { a: { b: { secret: 2 } } })
  t.strictSame(reveal(set(secret({ b: { c: 1 } }), 'a', 2).tree), { a: { secret: 2 } })
  t.strictSame(set(secret({ b: { c: 1 } }), 'a', 2).newlySecret, [['a']])
})

t.test('does not make siblings of a secret secret', async (t) => {
  const tree = set(EMPTY, 'a.b', 1, true).tree
  t.strictSame(reveal(set(tree, 'a', { c: 2 }).tree), { a: { b: { secret: 1 }, c: 2 } })
})

t.test('makes a plain value secret', async (t) => {
  const { tree, newlySecret } = set(build({ a: 1 }), 'a', 1, true)
  t.strictSame(reveal(tree), { a: { secret: 1 } })
  t.strictSame(newlySecret, [['a']])
})

t.test(
  'retains a secret that is set to [secret], and rejects [secret] for other values',
  async (t) => {
    const tree = set(build({ b: 1 }), 'a.c', 'x', true).tree
    t.equal(
      set(tree, '', JSON.parse(formatTreeJson(tree))).tree,
      tree,
      'a tree as returned by a read',
    )
    t.equal(set(tree, 'a.c', '[secret]', true).tree, tree)
    for (const path of ['b', 'a', 'x', 'a.c.d'])
      t.throws(
        () => set(tree, path, '[secret]'),
        {
          id: ID,
          code: 400,
          message: `request.value.data must not be "[secret]" at ${path}: it refers to an existing secret, but the field has no secret`,
        },
        path,
      )
    t.strictSame(reveal(set(tree, 'b', ['[secret]', 'a [secret]']).tree).b, [
      '[secret]',
      'a [secret]',
    ])
  },
)

t.test('accepts only a map for the complete tree', async (t) => {
  for (const value of [1, 'x', null, []])
    t.throws(() => set(EMPTY, '', value), {
      code: 400,
      message: 'request.value.data must be an object if the path is empty',
    })
})

import t from 'tap'
import { setNode } from '../../../../services/config/tree/merge.ts'
import { parseValue } from '../../../../services/config/tree/parse-value.ts'
import { EMPTY } from '../../../../services/config/tree/tree.ts'
import {
  formatStored,
  formatTree,
  formatTreeJson,
  parseStored,
  sizeOfTree,
} from '../../../../services/config/tree/tree-text.ts'

const sealer = {
  seal: (_: unknown, text: string) => `<${text}>`,
  open: (_: unknown, sealed: string) => sealed,
}

function toTree(value: unknown) {
  const input = parseValue(JSON.stringify(value), [], '')
  return setNode(EMPTY, [], input, { secret: false, sealer, id: '' }).tree
}

t.test('reads a stored tree as written', async (t) => {
  const value = {
    text: 'a "quoted" \\ line\n',
    number: 1.5,
    list: [1, [], { a: null }],
    none: null,
    '10': 'ten',
    '2': 'two',
    map: { empty: {}, 'é \u{1f600}': false },
  }
  const tree = toTree(value)
  t.strictSame(JSON.parse(formatTreeJson(tree)), value)
  t.equal(formatTreeJson(parseStored(formatStored(tree))), formatTreeJson(tree))
  t.equal(formatTree(tree), formatStored(tree))
  t.equal(formatTree(tree), formatStored(tree), 'even with cached parts')
  const other = new Map(tree).set('map', new Map().set('x', { text: '1', secret: false }))
  t.equal(formatTree(other), formatStored(other))
  t.equal(formatTree(new Map()), '{}')
  for (const node of [tree, other, new Map(), new Map().set('é', { text: '1', secret: true })])
    t.equal(sizeOfTree(node), Buffer.byteLength(formatTree(node)))
})

t.test('distinguishes stored secrets and maps from values that look the same', async (t) => {
  const value = {
    a: ['mx1.x.y'],
    b: ['x'],
    c: { d: '{}' },
    leaf: { leaf: true, value: 1, secret: true },
  }
  const tree = parseStored(formatStored(toTree(value)))
  t.strictSame(JSON.parse(formatTreeJson(tree)), value)
})

t.test('writes <, > and & unescaped', async (t) => {
  t.equal(formatTreeJson(toTree({ '<a>': '<b>&</b>' })), '{"<a>":"<b>&</b>"}')
})

t.test('writes secrets as [secret] or opens them by path', async (t) => {
  const tree = parseStored('{"a":{"b":["one"],"c":"1"},"d":["two"]}')
  t.equal(formatStored(tree), '{"a":{"b":["one"],"c":"1"},"d":["two"]}')
  t.equal(formatTreeJson(tree), '{"a":{"b":"[secret]","c":1},"d":"[secret]"}')
  const open = ({ names, leaf }: { names: readonly string[]; leaf: { text: string } }) =>
    JSON.stringify(`${names.join('.')}=${leaf.text}`)
  t.equal(formatTreeJson(tree, [], open), '{"a":{"b":"a.b=one","c":1},"d":"d=two"}')
  t.equal(formatTreeJson(tree.get('d')!, ['d'], open), '"d=two"')
})
